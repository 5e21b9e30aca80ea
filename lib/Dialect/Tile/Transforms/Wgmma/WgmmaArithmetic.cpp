//===- WgmmaArithmetic.cpp - Row arithmetic of wgmma kernels --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaDistribute.h"

using namespace mlir;
using namespace fmha::tile;

namespace {

/// Replaces the rescale of an accumulator that its wait has rescaled already.
struct RescaledByWait : public FragmentPattern<RescaleOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(RescaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!sumAheadOf(op))
      return failure();
    rewriter.replaceOp(op, adaptor.getInput());
    return success();
  }
};

} // namespace

void fmha::tile::populateWgmmaArithmetic(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         const KernelInfo &info) {
  static const RowLayout layout = rowsOfQuad(rowsOfFragment, storeFragment);
  populateRowPatterns(patterns, converter, info, layout);
  // Has priority over the pattern that multiplies.
  patterns.add<RescaledByWait>(converter, info, patterns.getContext(),
                               /*benefit=*/2);
}
