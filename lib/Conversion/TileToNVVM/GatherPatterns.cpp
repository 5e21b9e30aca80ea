//===- GatherPatterns.cpp - Rows that TMA gathers -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensor map of such a tensor has a row at every 16 bytes
// (include/fmha/Runtime/README.md). Row r of head h in batch n is row
//   (n * stride_batch + r * stride_row + h * stride_head) * element bytes / 16
// of the map, which 31 bits hold.
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "NumberCode.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Layout/SmemTile.h"
#include "fmha/Schedule/Model/Lists.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha;

namespace {

/// Emits the coordinates of gathered rows.
class ChunkCode : NumberCode {
public:
  /// `name` is that of the parameter of the tensor.
  ChunkCode(ImplicitLocOpBuilder &b, tile::TmaGatherOp op,
            const std::string &name)
      : NumberCode(b), op(op), name(name) {}

  /// Returns the column and the rows of the map.
  SmallVector<Value> coordinates() {
    SmallVector<Value> at = {column()};
    Value head = times(op.getHead(), schedule::outputStrides[2]);
    for (auto [batch, row] : llvm::zip_equal(op.getBatches(), op.getRows())) {
      Value inBatch =
          LLVM::AddOp::create(b, times(row, schedule::outputStrides[1]), head);
      at.push_back(LLVM::AddOp::create(
          b, times(batch, schedule::outputStrides[0]), inBatch));
    }
    return at;
  }

  using NumberCode::narrow;

private:
  Value column() {
    Value column = i32(op.getColumn());
    if (Value first = op.getFirst())
      column = LLVM::AddOp::create(b, narrow(first), column);
    return column;
  }

  /// Returns the distance of `count` strides in chunks. A stride is a multiple
  /// of a chunk unless its dimension has one element, whose index is 0.
  Value times(Value count, const char *stride) {
    constexpr int64_t chunkBytes = layout::PanelTile::chunkBytes;
    int64_t elementBytes =
        cast<MemRefType>(op.getSrc().getType()).getElementTypeBitWidth() / 8;
    Value shift = i64(llvm::Log2_64(chunkBytes / elementBytes));
    Value chunks =
        LLVM::LShrOp::create(b, parameterOf(op, name + stride), shift);
    return LLVM::MulOp::create(
        b, narrow(count), LLVM::TruncOp::create(b, b.getI32Type(), chunks));
  }

  tile::TmaGatherOp op;
  std::string name;
};

struct LowerTmaGather : public OpConversionPattern<tile::TmaGatherOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tile::TmaGatherOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    std::vector<KernelParameter> parameters = parametersOf(op);
    auto source = dyn_cast<BlockArgument>(adaptor.getSrc());
    std::string name = source ? parameters[source.getArgNumber()].name : "";
    if (!parameterIndex(parameters, name + schedule::outputStrides[0]))
      return op.emitError()
             << "expected k or v of a kernel whose schedule has kv_copy = "
                "gather4, whose launch passes the strides, got another tensor";
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    ChunkCode code(b, op, name);
    Value barrier = LLVM::GEPOp::create(
        b, adaptor.getBarrier().getType(), b.getI64Type(), adaptor.getBarrier(),
        ArrayRef<LLVM::GEPArg>{code.narrow(op.getStage())});
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        b, adaptor.getDest(), adaptor.getSrc(), code.coordinates(), barrier,
        ValueRange(), Value(), Value(), NVVM::TMALoadMode::TILE_GATHER4,
        /*isCTAOnly=*/true, NVVM::CTAGroupKindAttr(), Value());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void fmha::populateGatherPatterns(RewritePatternSet &patterns,
                                  const TypeConverter &converter) {
  patterns.add<LowerTmaGather>(converter, patterns.getContext());
}
