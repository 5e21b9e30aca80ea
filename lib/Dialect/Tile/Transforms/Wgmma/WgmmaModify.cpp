//===- WgmmaModify.cpp - score_mod on fragments -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/RowCode.h"
#include "WgmmaDistribute.h"

using namespace mlir;
using namespace fmha::tile;

namespace {

/// Applies the region to the two keys that a thread has of every 8, for one row
/// and then the other, so that the values that both rows need of a key are used
/// nowhere else. A condition becomes a branch around the code.
struct ModifyFragment : public FragmentPattern<ModifyOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(ModifyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, ifCondition(b, op, adaptor.getInput(), [&] {
                         return modified(b, op, adaptor.getInput());
                       }));
    return success();
  }

private:
  static constexpr int64_t neighbors = 2;

  Value modified(ImplicitLocOpBuilder &b, ModifyOp op, Value x) const {
    Value made = x;
    Value first = arith::AddIOp::create(b, columnOf(b, op),
                                        toIndex(b, fragmentColumn(b)));
    RowCode codes[fragmentRows] = {{b, op, info, place(b, op, 0)},
                                   {b, op, info, place(b, op, 1)}};
    int64_t size = fragmentSize(op.getType()), steps = stepsOfBlock(op);
    for (int64_t n = 0; n < size; n += steps * fragmentStep) {
      int64_t count = std::min(steps * fragmentStep, size - n);
      Value key = keyOf(b, first, n);
      Value own = slice(b, x, n, count);
      auto emit = [&] { return ofKeys(b, codes, own, key); };
      Value piece = op.getCondition() ? inBlock(b, own, key, emit) : emit();
      made = vector::InsertStridedSliceOp::create(
          b, piece, made, ArrayRef<int64_t>{n}, ArrayRef<int64_t>{1});
    }
    return made;
  }

  /// Returns how many times 8 keys a block of code has. Only few blocks of keys
  /// are partial: their loads overlap if there are registers for them.
  static int64_t stepsOfBlock(ModifyOp op) {
    constexpr int64_t most = 8;
    bool fits = ScoreRegion(op.getBody().front()).loadsOfKey() <= 1;
    return op.getCondition() && fits ? most : 1;
  }

  static Value keyOf(ImplicitLocOpBuilder &b, Value first, int64_t n) {
    return arith::AddIOp::create(
        b, first, arith::ConstantIndexOp::create(b, n / fragmentStep * 8));
  }

  /// Returns the scores of a thread's keys, of which `key` is the first: of
  /// every 8, for one row and then the other.
  static Value ofKeys(ImplicitLocOpBuilder &b, MutableArrayRef<RowCode> codes,
                      Value own, Value key) {
    Value made = own;
    int64_t size = cast<VectorType>(own.getType()).getDimSize(0);
    for (int64_t n = 0; n < size; n += neighbors) {
      RowCode &code = codes[n / neighbors % fragmentRows];
      Value applied = code.apply(slice(b, own, n, neighbors), keyOf(b, key, n));
      made = vector::InsertStridedSliceOp::create(
          b, applied, made, ArrayRef<int64_t>{n}, ArrayRef<int64_t>{1});
    }
    return made;
  }

  static RowPlace place(ImplicitLocOpBuilder &b, ModifyOp op, int64_t row) {
    std::optional<uint32_t> heads = op.getQueriesOp().getHeads();
    return {[=, &b] { return fragmentQuery(b, row, heads); },
            [=, &b] { return fragmentHead(b, row, *heads); }};
  }
};

} // namespace

void fmha::tile::populateWgmmaModify(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     const KernelInfo &info) {
  patterns.add<ModifyFragment>(converter, info, patterns.getContext());
}
