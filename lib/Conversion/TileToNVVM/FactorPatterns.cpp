//===- FactorPatterns.cpp - Scales of pages -------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyCode.h"
#include "MachinePatterns.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;

namespace {

/// Emits the loads of tile.read_factors:
///   row = row + thread, key = the key in row min(row, length - 1)
///   factor = row < length ? factors[page of key] : 0
/// Rows after the last one get 0, since their pages may hold any scale.
class FactorReads : KeyCode {
public:
  FactorReads(ImplicitLocOpBuilder &b, tile::ReadFactorsOp op,
              tile::ReadFactorsOp::Adaptor adaptor)
      : KeyCode(b, op, op.getSrc(), KeyLists::of(op, adaptor)), op(op) {}

  /// Returns the factors in `lists` of this thread's row.
  SmallVector<Value> build(ValueRange factors) {
    Value length = narrow(op.getLength());
    Value row =
        make<arith::AddIOp>(narrow(op.getRow()), threadFrom(op.getFirstWarp()));
    Value page = pageOf(listed(make<arith::MinSIOp>(row, lastOf(length))));
    SmallVector<Value> read;
    for (Value list : factors)
      read.push_back(arith::SelectOp::create(b, isLess(row, length),
                                             load(list, page), zero()));
    return read;
  }

private:
  Value zero() { return arith::ConstantOp::create(b, b.getF32FloatAttr(0)); }
  Value load(Value list, Value page) {
    Value address = LLVM::GEPOp::create(b, list.getType(), b.getF32Type(), list,
                                        ArrayRef<LLVM::GEPArg>{wide(page)});
    auto load = LLVM::LoadOp::create(b, b.getF32Type(), address);
    load.setInvariant(true);
    return load;
  }

  tile::ReadFactorsOp op;
};

struct LowerReadFactors : public OpConversionPattern<tile::ReadFactorsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tile::ReadFactorsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto func = op->getParentOfType<LLVM::LLVMFuncOp>();
    bool isCache =
        isa<BlockArgument>(adaptor.getSrc()) && !func->hasAttr("tile.kernel");
    if (!isCache || !parameterIndex(parametersOf(op), "pages"))
      return op.emitError()
             << "expected src to be a cache argument of a kernel of "
                "fmha.attention with block_tables, got another value; pass "
                "the kernel's argument";
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op,
                       FactorReads(b, op, adaptor)
                           .build({adaptor.getKeys(), adaptor.getValues()}));
    return success();
  }
};

/// Emits the stores of tile.write_factors.
class FactorWrites : NumberCode {
public:
  FactorWrites(ImplicitLocOpBuilder &b, tile::WriteFactorsOp op)
      : NumberCode(b), op(op) {}

  void build(Value dest) {
    Value thread = threadFrom(op.getFirstWarp());
    int64_t count = op.getCount();
    auto branch = scf::IfOp::create(b, isLess(thread, i32(count)),
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    constexpr int64_t bytes = sizeof(float);
    Value own = at(dest, make<arith::MulIOp>(thread, i32(bytes)));
    LLVM::StoreOp::create(b, op.getKey(), own);
    LLVM::StoreOp::create(b, op.getValue(), at(own, int32_t(count * bytes)));
  }

private:
  tile::WriteFactorsOp op;
};

struct LowerWriteFactors : public OpConversionPattern<tile::WriteFactorsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tile::WriteFactorsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FactorWrites(b, op).build(adaptor.getDest());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void fmha::populateFactorPatterns(RewritePatternSet &patterns,
                                  const TypeConverter &converter) {
  patterns.add<LowerReadFactors, LowerWriteFactors>(converter,
                                                    patterns.getContext());
}
