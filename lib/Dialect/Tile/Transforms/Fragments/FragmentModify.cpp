//===- FragmentModify.cpp - score_mod on fragments --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/RowCode.h"
#include "Fragments/Fragments.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

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
    Value first = arith::AddIOp::create(b, columnOf(b, op),
                                        toIndex(b, fragmentColumn(b)));
    int64_t rows = threadRows(op.getType()), fragments = rows / fragmentRows;
    SmallVector<RowCode> codes;
    for (int64_t row = 0; row < rows; ++row)
      codes.emplace_back(b, op, info, place(b, op, row));
    if (fragments == 1)
      return ofFragment(b, op, codes, x, first);
    int64_t size = fragmentSize(op.getType()) / fragments;
    SmallVector<Value> parts;
    for (int64_t n = 0; n < fragments; ++n)
      parts.push_back(ofFragment(
          b, op, MutableArrayRef(codes).slice(n * fragmentRows, fragmentRows),
          slice(b, x, n * size, size), first));
    return concatenate(b, parts);
  }

  /// Returns the scores of the two rows of a fragment.
  static Value ofFragment(ImplicitLocOpBuilder &b, ModifyOp op,
                          MutableArrayRef<RowCode> codes, Value x,
                          Value first) {
    if (!op.getCondition())
      return ofKeys(b, codes, x, first);
    Value made = x;
    int64_t size = cast<VectorType>(x.getType()).getDimSize(0),
            most = stepsOfBlock(op) * fragmentStep;
    for (int64_t n = 0; n < size; n += most) {
      Value key = keyOf(b, first, n);
      Value own = slice(b, x, n, std::min(most, size - n));
      Value piece =
          inBasicBlock(b, own, key, [&] { return ofKeys(b, codes, own, key); });
      made = vector::InsertStridedSliceOp::create(
          b, piece, made, ArrayRef<int64_t>{n}, ArrayRef<int64_t>{1});
    }
    return made;
  }

  /// Returns the number of steps of 8 keys in a basic block. Loads of partial
  /// blocks overlap if there are registers for them.
  static int64_t stepsOfBlock(ModifyOp op) {
    constexpr int64_t most = 8;
    return ScoreRegion(op.getBody().front()).loadsOfKey() <= 1 ? most : 1;
  }

  /// Returns the key of element `n`, which is the first of 8.
  static Value keyOf(ImplicitLocOpBuilder &b, Value first, int64_t n) {
    return arith::AddIOp::create(
        b, first, arith::ConstantIndexOp::create(b, n / fragmentStep * 8));
  }

  /// Returns the scores of a thread's keys, of which `first` is the first: of
  /// every 8, for one row and then the other.
  static Value ofKeys(ImplicitLocOpBuilder &b, MutableArrayRef<RowCode> codes,
                      Value x, Value first) {
    Value made = x;
    int64_t size = cast<VectorType>(x.getType()).getDimSize(0);
    for (int64_t n = 0; n < size; n += fragmentStep) {
      Value key = keyOf(b, first, n);
      for (auto [row, code] : llvm::enumerate(codes)) {
        int64_t at = n + int64_t(row) * neighbors;
        made = vector::InsertStridedSliceOp::create(
            b, code.apply(slice(b, x, at, neighbors), key), made,
            ArrayRef<int64_t>{at}, ArrayRef<int64_t>{1});
      }
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

void fmha::tile::populateFragmentModify(RewritePatternSet &patterns,
                                        const TypeConverter &converter,
                                        const KernelInfo &info) {
  patterns.add<ModifyFragment>(converter, info, patterns.getContext());
}
