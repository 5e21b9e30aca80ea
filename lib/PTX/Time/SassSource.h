//===- SassSource.h - What decides a recording in SASS ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SASS alone does not say which branches a warp takes, what its asynchronous
// instructions wait for and signal, and how many bytes they copy. A source
// does: the recorded PTX of the same kernel (SassRecording), or a file of trip
// counts (Trips).
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_TIME_SASSSOURCE_H
#define FMHA_LIB_PTX_TIME_SASSSOURCE_H

#include "SassBlocks.h"

#include "fmha/PTX/Time/Recording.h"

namespace ptxsim::timing {

/// A function with its basic blocks.
struct SassKernel {
  explicit SassKernel(sass::Function given)
      : function(std::move(given)), blocks(blocksOf(function)) {}
  sass::Function function;
  std::vector<Block> blocks;
};

class SassSource {
public:
  virtual ~SassSource() = default;
  /// Completes the code of an instruction. Called for all of them, in order.
  virtual void complete(const sass::Instruction &inst, Code &code) = 0;
  /// Returns the warps, without steps.
  virtual std::vector<WarpRecord> warps() = 0;
  /// Returns the blocks that a warp visits, in order.
  virtual std::vector<uint32_t> pathOf(const WarpRecord &warp) = 0;
  /// Adds the facts of a warp that has its steps, and what they reach. Called
  /// after pathOf() of the same warp.
  virtual void complete(WarpRecord &warp, Recording &result) = 0;
};

/// Returns `result` with the codes of the kernel and the warps of the source.
Recording recordingOf(const SassKernel &kernel, SassSource &source,
                      Recording result = {});

/// Makes a DEPBAR that waits for no copies wait for its scoreboard.
void waitForScoreboard(const sass::Instruction &inst, Code &code);

} // namespace ptxsim::timing

#endif // FMHA_LIB_PTX_TIME_SASSSOURCE_H
