//===- CandidatesWgmma.cpp - Blocks of keys for wgmma -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

using namespace fmha::schedule;

/// A wgmma has any multiple of 8 columns, so that a block takes what registers
/// leave. Behind a bound the last block of a CTA is half hidden: larger ones
/// lose more there than they win (FlashAttention-3 takes 128 and less).
std::vector<unsigned> fmha::schedule::wgmmaKeyBlocks(const Problem &problem) {
  std::vector<unsigned> blocks = {128, 112, 96, 80, 64, 48, 32, 16};
  if (problem.mask.isFull() && !problem.source2)
    blocks.insert(blocks.begin(), {192, 176, 160, 144});
  return blocks;
}
