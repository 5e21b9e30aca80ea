//===- Places.h - What an instruction reaches -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_TIME_PLACES_H
#define FMHA_LIB_PTX_TIME_PLACES_H

#include "fmha/PTX/Time/Recording.h"

#include <vector>

namespace ptxsim::timing {

/// What an access reached: rows of banks of shared memory, or sectors of global
/// memory, whose addresses are given.
struct Place {
  Reached reached = Reached::Nothing;
  uint64_t amount = 0;
  std::vector<uint64_t> sectors;
};

/// Returns where a load, store, atomic or cp.async of the active lanes goes,
/// before it executes.
Place placeOf(const Warp &warp, const Instruction &inst, LaneMask active);

/// Returns the clocks in which shared memory serves lanes that access `bytes`
/// each: the lanes of 128 bytes together, and one row of each bank a clock.
uint64_t bankRows(const std::vector<uint64_t> &addresses, uint32_t bytes);

/// Returns the operations of a mma.sync, in units of 4096 on elements of 16
/// bits.
double productSize(std::string_view opcode);
/// Returns the columns of D of a wgmma.
double columnsOf(std::string_view opcode);
/// Returns the bytes that a tcgen05.cp copies.
double copiedBytes(std::string_view opcode);

} // namespace ptxsim::timing

#endif // FMHA_LIB_PTX_TIME_PLACES_H
