//===- UnitState.h - State of a unit per warp, CTA or cluster ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_MACHINE_UNITSTATE_H
#define FMHA_PTX_SIM_CORE_MACHINE_UNITSTATE_H

#include "fmha/PTX/Sim/Core/Machine/Report.h"

#include <memory>
#include <vector>

namespace ptxsim {

/// Base of the state of a unit per warp, CTA or cluster (mbarriers, tensor
/// memory, bulk groups). Created on first use, destroyed with its owner.
struct UnitState {
  virtual ~UnitState() = default;
  /// Called when the last warp of the CTA has exited and all operations have
  /// completed. Reports leaks.
  virtual void atCtaExit(Cta &cta) {}
  /// Returns the site that made these shared bytes of the CTA a live mbarrier,
  /// if any.
  virtual Site barrierAt(uint32_t offset, uint32_t bytes) const { return {}; }
};

unsigned nextUnitStateId();

/// Typed slots: states().get<MbarrierTable>(owner) default-constructs the
/// state on first use; T derives from UnitState.
class UnitStates {
public:
  template <typename T> T &get() {
    static const unsigned id = nextUnitStateId();
    if (id >= slots.size())
      slots.resize(id + 1);
    if (!slots[id])
      slots[id] = std::make_unique<T>();
    return static_cast<T &>(*slots[id]);
  }
  std::vector<std::unique_ptr<UnitState>> slots;
};

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_MACHINE_UNITSTATE_H
