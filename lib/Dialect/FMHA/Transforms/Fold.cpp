//===- Fold.cpp - Fold surrounding ops into fmha.attention ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fold.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fmha {
#define GEN_PASS_DEF_FMHAFOLD
#include "fmha/Dialect/FMHA/Transforms/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

void fmha::populateFoldPatterns(RewritePatternSet &patterns) {
  populateFoldOperandPatterns(patterns);
  populateFoldResultPatterns(patterns);
  populateFoldScorePatterns(patterns);
  TransposeOp::getCanonicalizationPatterns(patterns, patterns.getContext());
}

namespace {
struct Fold : fmha::impl::FMHAFoldBase<Fold> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFoldPatterns(patterns);
    // Each pattern removes an op around fmha.attention, so this terminates.
    GreedyRewriteConfig config;
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    (void)applyPatternsGreedily(getOperation(), std::move(patterns), config);
  }
};
} // namespace
