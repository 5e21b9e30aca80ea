//===- SharedAccess.h - Asynchronous accesses to shared memory --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_SHAREDACCESS_H
#define FMHA_LIB_PTX_SIM_ASYNC_SHAREDACCESS_H

#include "fmha/PTX/Sim/Core/Machine/OtherAccessors.h"
#include "fmha/PTX/Sim/Core/Races/Races.h"

#include <bit>

namespace ptxsim {

/// A checked place in the shared memory of one CTA of the cluster.
struct SharedRef {
  Cta *cta = nullptr;
  uint32_t offset = 0;
  explicit operator bool() const { return cta; }
  uint8_t *data() const { return cta->shared.data() + offset; }
};

/// Returns the place at a 32-bit shared::cluster address, or an empty reference
/// after a fault (no such CTA, out of bounds, misaligned).
SharedRef resolveShared(Cluster &cluster, const Site &site, uint32_t address,
                        uint32_t bytes, uint32_t align);

/// Returns the 32-bit shared address of a memory operand in a lane. Generic
/// addresses must be in the shared window. Returns nullopt after a fault.
std::optional<uint32_t> sharedAddress(Warp &warp, const Instruction &inst,
                                      const AddressOperand &operand,
                                      unsigned lane);

/// Checks bytes that an operation of the async proxy is about to read: they
/// must be written and not in flight. Reports findings; never stops the launch.
void checkAsyncSource(const Site &site, Cta &cta, uint32_t offset,
                      uint32_t bytes);

/// Mark bytes that an operation in flight will read (they must not be written)
/// or write (they hold poison until then). Without shadows only the poison
/// remains.
void beginAsyncRead(Cta &cta, uint32_t offset, uint32_t bytes);
void endAsyncRead(Cta &cta, uint32_t offset, uint32_t bytes);
void beginAsyncWrite(const Site &site, Cta &cta, uint32_t offset,
                     uint32_t bytes);
/// Copies the bytes to shared memory and marks them as written.
void endAsyncWrite(Cta &cta, uint32_t offset, const uint8_t *bytes,
                   uint32_t count);

/// Calls `visit(lane)` for each lane of the mask.
template <typename Visit> void forLanes(LaneMask mask, Visit visit) {
  for (; mask; mask &= mask - 1)
    visit(unsigned(std::countr_zero(mask)));
}

/// Returns "0x400 of CTA 1".
std::string describeShared(const Cta &cta, uint32_t offset);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_SHAREDACCESS_H
