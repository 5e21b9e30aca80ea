//===- Trace.h - The instructions one warp executed -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_EXECUTION_TRACE_H
#define FMHA_LIB_PTX_SIM_CORE_EXECUTION_TRACE_H

#include "fmha/PTX/Sim/Core/Machine/Machine.h"

namespace ptxsim {

/// Returns the instruction as written in the module, including its guard, on
/// one line.
std::string textOf(const Program &program, const Instruction &inst);

/// Passes one line per executed instruction to Options::trace:
///
///   27 ffffffff  ld.global.f32 %f1, [%rd5]  = 0x3f800000 (1)
///
/// which are the PTX line, the active lanes, the text, and the resulting values
/// of the destinations in the first active lane.
class Tracer {
public:
  Tracer(const Program &program, const WarpTrace &request)
      : program(program), request(request) {}
  void executed(const Warp &warp, const Instruction &inst, LaneMask active,
                Outcome outcome);

private:
  const Program &program;
  const WarpTrace &request;
  uint64_t lines = 0;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_EXECUTION_TRACE_H
