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

using namespace mlir;
using namespace mlir::bufferization;

namespace {
/// The same op on the buffers of its operands, of which the last ones are the
/// destinations that stand for the results.
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
    // Destinations are overwritten whole, so a caller may pass tensor.empty;
    // but rows that no packed sequence has are kept.
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
    // Destinations are overwritten whole.
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
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
} // namespace

void fmha::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, FMHADialect *) {
    context->loadDialect<BufferizationDialect>();
    AttentionOp::attachInterface<AttentionBufferization>(*context);
    MergeOp::attachInterface<MergeBufferization>(*context);
    ReadOp::attachInterface<ReadBufferization>(*context);
  });
}
