//===- Mbarrier.h - The mbarrier object -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
// The hardware keeps one phase bit. The simulator counts all phases, so that it
// can distinguish a waiter more than one phase late from one that is on time.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_MBARRIER_H
#define FMHA_PTX_SIM_UNITS_MBARRIER_H

#include <cstdint>
#include <string>

namespace ptxsim {

/// The reason why an operation on a barrier stops the program on hardware. A
/// fault leaves the object unchanged.
enum class MbarrierFault : uint8_t {
  None,
  NotInitialized,  ///< The operation came before init or after inval.
  CountOutOfRange, ///< init with more than 2^20 - 1 arrivals.
  ArriveUnderflow, ///< More arrivals than the phase still waits for.
  TxOutOfRange,    ///< tx-count would leave +-(2^20 - 1).
  TxOperand,       ///< The operand of expect_tx or complete_tx is >= 2^20.
  DropsLast,       ///< arrive_drop would leave no expected arrival.
};

/// Returns one sentence about the fault, with the rule that it violates.
const char *describe(MbarrierFault fault);

/// One mbarrier object. Every operation returns a fault or changes the object;
/// completion is checked after each change of pending or tx.
struct Mbarrier {
  static constexpr uint32_t maxCount = (1u << 20) - 1;
  static constexpr uint32_t stateBytes = 8;

  /// Number of completed phases since init.
  uint64_t phase = 0;
  /// Arrivals that the current phase still needs.
  uint32_t pending = 0;
  /// Arrivals that the next phase will need.
  uint32_t expected = 0;
  /// Bytes expected and not yet completed; negative if data came first.
  int32_t tx = 0;
  bool live = false;

  MbarrierFault init(uint32_t count);
  MbarrierFault invalidate();
  MbarrierFault arrive(uint32_t count = 1);
  MbarrierFault arriveDrop(uint32_t count = 1);
  MbarrierFault expectTx(uint32_t bytes);
  MbarrierFault completeTx(uint32_t bytes);
  /// Perform expect_tx and the arrival as one step: the phase cannot complete
  /// in between.
  MbarrierFault arriveExpectTx(uint32_t bytes);
  MbarrierFault arriveDropExpectTx(uint32_t bytes);
  /// Adds one pending arrival, which the completion of the copies removes
  /// again: cp.async.mbarrier.arrive without .noinc.
  MbarrierFault incrementPending();

  /// Returns the opaque 64-bit state as encoded by hardware: phase bit 63, 2^20
  /// - pending in 62..43, 2^21 - tx in 41..21, 2^20 - expected in 20..1.
  uint64_t state() const;
  /// Implements test_wait and try_wait with a state: compares only the phase
  /// bit.
  bool completed(uint64_t state) const;
  /// Implements the .parity forms: returns true if the last completed phase has
  /// this parity.
  bool completedParity(uint32_t parity) const {
    return (phase & 1) != (parity & 1);
  }
  /// Implements mbarrier.pending_count.
  static uint32_t pendingCount(uint64_t state);

  /// Returns "phase 3, 2 of 4 arrivals pending, tx 8192" for reports.
  std::string describeState() const;

private:
  MbarrierFault apply(uint32_t arrivals, uint32_t drops, int64_t txDelta);
};

} // namespace ptxsim

#endif // FMHA_PTX_SIM_UNITS_MBARRIER_H
