//===- Signals.h - Phases that trips signal and wait for --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_TIME_TRIPS_SIGNALS_H
#define FMHA_LIB_PTX_TIME_TRIPS_SIGNALS_H

#include "fmha/PTX/Time/Recording.h"

#include <map>
#include <tuple>

namespace ptxsim::timing {

/// Numbers the phases of named barriers, of which each CTA has its own.
class Signals {
public:
  /// Adds a signal of a phase to the step of the warp.
  void signal(WarpRecord &warp, uint32_t step, const std::string &barrier,
              uint64_t phase, Recording &result);
  /// Adds a wait for a phase, which must get as many signals of warps; 0 is for
  /// any number.
  void wait(WarpRecord &warp, uint32_t step, const std::string &barrier,
            uint64_t phase, uint32_t signals, Recording &result);
  /// Throws Error::Launch for a wait whose phase has too few or too many
  /// signals.
  void check(const Recording &result, const sass::Function &function) const;

private:
  using Key = std::tuple<uint64_t, std::string, uint64_t>;
  struct Waited {
    Key key;
    uint32_t instruction = 0, warp = 0, signals = 0;
  };

  uint32_t phaseOf(const Key &key, Recording &result);

  std::map<Key, uint32_t> phases;
  std::vector<Waited> waits;
};

} // namespace ptxsim::timing

#endif // FMHA_LIB_PTX_TIME_TRIPS_SIGNALS_H
