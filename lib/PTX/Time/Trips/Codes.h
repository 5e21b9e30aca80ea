//===- Codes.h - What opcodes of SASS say -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_TIME_TRIPS_CODES_H
#define FMHA_LIB_PTX_TIME_TRIPS_CODES_H

#include "fmha/PTX/Time/Recording.h"

namespace ptxsim::timing {

/// Returns the n-th operand, from 0 on; empty if there is none.
std::string_view operandOf(const sass::Instruction &inst, size_t n);
/// Returns an operand that is a whole number, hexadecimal or not.
std::optional<uint32_t> immediateOf(std::string_view operand);

/// Returns whether the instruction repeats a wait that has failed, as ptxas has
/// it with a time limit: @!P0 SYNCS.PHASECHK.TRANS64 P0, [R3], R4.
bool retries(const sass::Instruction &inst);

/// Sets the classes and amounts of fences, wgmma and waits for copies, which
/// PTX would distinguish. `flushes` has a bit for each scoreboard that a commit
/// of bulk copies sets, `commits` for those of cp.async.
void settleClass(const sass::Instruction &inst, unsigned flushes,
                 unsigned commits, Code &code);

/// Where a load or store goes, and how many rows of banks or sectors it takes
/// if neighboring lanes access neighboring addresses.
struct Access {
  Reached reached = Reached::Shared;
  uint32_t amount = 1;
};
Access accessOf(const sass::Instruction &inst);

/// Returns the direction of a bulk copy.
CopyDirection directionOf(const sass::Instruction &inst);

} // namespace ptxsim::timing

#endif // FMHA_LIB_PTX_TIME_TRIPS_CODES_H
