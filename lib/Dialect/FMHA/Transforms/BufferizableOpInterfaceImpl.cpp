//===- BufferizableOpInterfaceImpl.cpp - Bufferize fmha -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/Transforms/BufferizableOpInterfaceImpl.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace {
/// Creates the same op on the buffers of its operands. The last ones, the
/// destinations, replace the results.
LogicalResult bufferizeOnBuffers(Operation *op, RewriterBase &rewriter,
                                 const BufferizationOptions &options,
                                 BufferizationState &state) {
  if (cast<DestinationStyleOpInterface>(op).hasPureBufferSemantics())
    return success();
  rewriter.setInsertionPoint(op);
  SmallVector<Value> buffers;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  auto results = ValueRange(buffers).take_back(op->getNumResults());
  OperationState newOp(op->getLoc(), op->getName(), buffers, TypeRange(),
                       op->getAttrs());
  for (Region &region : op->getRegions())
    newOp.addRegion()->takeBody(region);
  rewriter.create(newOp);
  replaceOpWithBufferizedValues(rewriter, op, results);
  return success();
}

struct AttentionBufferization
    : DstBufferizableOpInterfaceExternalModel<AttentionBufferization,
                                              fmha::AttentionOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    // Destinations are overwritten completely, so a caller may pass
    // tensor.empty; but rows outside all packed sequences are kept.
    return cast<fmha::AttentionOp>(op).getCuSeqlensQ() ||
           !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  bool bufferizesToElementwiseAccess(Operation *, const AnalysisState &,
                                     ArrayRef<OpOperand *>) const {
    // A row of the output needs every key: inputs and outputs cannot share a
    // buffer.
    return false;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    return bufferizeOnBuffers(op, rewriter, options, state);
  }
};

struct MergeBufferization
    : DstBufferizableOpInterfaceExternalModel<MergeBufferization,
                                              fmha::MergeOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    // Destinations are overwritten completely.
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    return bufferizeOnBuffers(op, rewriter, options, state);
  }
};

struct AppendBufferization
    : DstBufferizableOpInterfaceExternalModel<AppendBufferization,
                                              fmha::AppendOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    // Caches keep their other rows; query_out is overwritten completely.
    bool isLast = operand.getOperandNumber() + 1 == op->getNumOperands();
    return !isLast || !cast<fmha::AppendOp>(op).getQueryOut();
  }

  bool bufferizesToElementwiseAccess(Operation *, const AnalysisState &,
                                     ArrayRef<OpOperand *>) const {
    return false;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    return bufferizeOnBuffers(op, rewriter, options, state);
  }
};

struct ReadBufferization
    : BufferizableOpInterface::ExternalModel<ReadBufferization, fmha::ReadOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto read = cast<fmha::ReadOp>(op);
    FailureOr<Value> buffer =
        getBuffer(rewriter, read.getSource(), options, state);
    if (failed(buffer))
      return failure();
    replaceOpWithNewBufferizedOp<fmha::ReadOp>(rewriter, op, read.getType(),
                                               *buffer, read.getIndices());
    return success();
  }
};

/// transpose(x) -> memref.transpose of the buffer of x, or, if that is the
/// inverse transpose of a buffer, that buffer
struct TransposeBufferization
    : BufferizableOpInterface::ExternalModel<TransposeBufferization,
                                             fmha::TransposeOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return false;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &,
                                      const AnalysisState &) const {
    // The memory is shared, but the same indices are other elements, so an
    // elementwise op must not read one and write the other.
    return {{op->getResult(0), BufferRelation::Unknown}};
  }
  FailureOr<BufferLikeType>
  getBufferType(Operation *op, Value, const BufferizationOptions &options,
                const BufferizationState &state,
                SmallVector<Value> &invocationStack) const {
    auto transpose = cast<fmha::TransposeOp>(op);
    FailureOr<BufferLikeType> source = bufferization::getBufferType(
        transpose.getSource(), options, state, invocationStack);
    if (failed(source))
      return failure();
    return cast<BufferLikeType>(
        transposed(cast<MemRefType>(*source), transpose.getPermutation()));
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto transpose = cast<fmha::TransposeOp>(op);
    FailureOr<Value> buffer =
        getBuffer(rewriter, transpose.getSource(), options, state);
    if (failed(buffer))
      return failure();
    auto map = AffineMap::getPermutationMap(transpose.getPermutation(),
                                            op->getContext());
    auto inner = buffer->getDefiningOp<memref::TransposeOp>();
    if (inner && map.compose(inner.getPermutation()).isIdentity()) {
      replaceOpWithBufferizedValues(rewriter, op, inner.getIn());
      return success();
    }
    replaceOpWithNewBufferizedOp<memref::TransposeOp>(rewriter, op, *buffer,
                                                      AffineMapAttr::get(map));
    return success();
  }

private:
  /// Returns the type of memref.transpose of a buffer of `type`.
  static MemRefType transposed(MemRefType type, ArrayRef<int64_t> permutation) {
    auto [strides, offset] = type.getStridesAndOffset();
    auto layout = StridedLayoutAttr::get(
        type.getContext(), offset, applyPermutation(strides, permutation));
    return MemRefType::get(applyPermutation(type.getShape(), permutation),
                           type.getElementType(), layout,
                           type.getMemorySpace());
  }
};
} // namespace

void fmha::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, FMHADialect *) {
    context->loadDialect<BufferizationDialect, memref::MemRefDialect>();
    AttentionOp::attachInterface<AttentionBufferization>(*context);
    AppendOp::attachInterface<AppendBufferization>(*context);
    MergeOp::attachInterface<MergeBufferization>(*context);
    ReadOp::attachInterface<ReadBufferization>(*context);
    TransposeOp::attachInterface<TransposeBufferization>(*context);
  });
}
