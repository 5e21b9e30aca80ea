//===- SassBlocks.h - Basic blocks of SASS ----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_TIME_SASSBLOCKS_H
#define FMHA_LIB_PTX_TIME_SASSBLOCKS_H

#include "fmha/PTX/Sass/Program.h"

namespace ptxsim::timing {

/// Instructions from `first` to before `end`, and the blocks that may follow.
struct Block {
  uint32_t first = 0, end = 0;
  std::vector<uint32_t> next;
  /// Whether a warp may end here.
  bool exits = false;
};

/// Returns the basic blocks, in the order of the text. If ptxas peels the first
/// wait off a loop of waits, that wait gets the line of the loop's wait, and
/// the loop is removed from the successors of all blocks, since it only
/// retries.
std::vector<Block> blocksOf(sass::Function &function);

} // namespace ptxsim::timing

#endif // FMHA_LIB_PTX_TIME_SASSBLOCKS_H
