//===- Mbarrier.cpp - The mbarrier object ---------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/Mbarrier.h"

#include <array>

namespace ptxsim {

const char *describe(MbarrierFault fault) {
  static constexpr std::array<const char *, 7> texts = {
      "no fault",
      "the mbarrier is not initialized; execute mbarrier.init first",
      "the count of mbarrier.init must be 1 .. 1048575",
      "more arrivals than the phase still waits for; lower the arrivals or "
      "raise the count of mbarrier.init",
      "the tx-count would leave -1048575 .. 1048575; match expect_tx with the "
      "bytes that the copies bring",
      "the operand of expect_tx and complete_tx must be below 1048576",
      "arrive_drop would leave no expected arrival for the next phase"};
  return texts[unsigned(fault)];
}

MbarrierFault Mbarrier::init(uint32_t count) {
  if (count > maxCount)
    return MbarrierFault::CountOutOfRange;
  // A count of zero completes the first phase at once.
  phase = count == 0 ? 1 : 0;
  pending = expected = count;
  tx = 0;
  live = true;
  return MbarrierFault::None;
}

MbarrierFault Mbarrier::invalidate() {
  if (!live)
    return MbarrierFault::NotInitialized;
  live = false;
  return MbarrierFault::None;
}

MbarrierFault Mbarrier::apply(uint32_t arrivals, uint32_t drops,
                              int64_t txDelta) {
  if (!live)
    return MbarrierFault::NotInitialized;
  if (arrivals > pending)
    return MbarrierFault::ArriveUnderflow;
  if (drops && drops >= expected)
    return MbarrierFault::DropsLast;
  int64_t newTx = tx + txDelta;
  if (newTx > int64_t(maxCount) || newTx < -int64_t(maxCount))
    return MbarrierFault::TxOutOfRange;
  bool changed = arrivals || txDelta;
  pending -= arrivals;
  expected -= drops;
  tx = int32_t(newTx);
  if (changed && pending == 0 && tx == 0) {
    ++phase;
    pending = expected;
  }
  return MbarrierFault::None;
}

MbarrierFault Mbarrier::arrive(uint32_t count) { return apply(count, 0, 0); }

MbarrierFault Mbarrier::arriveDrop(uint32_t count) {
  return apply(count, count, 0);
}

MbarrierFault Mbarrier::expectTx(uint32_t bytes) {
  return bytes > maxCount ? MbarrierFault::TxOperand : apply(0, 0, bytes);
}

MbarrierFault Mbarrier::completeTx(uint32_t bytes) {
  return bytes > maxCount ? MbarrierFault::TxOperand
                          : apply(0, 0, -int64_t(bytes));
}

MbarrierFault Mbarrier::arriveExpectTx(uint32_t bytes) {
  return bytes > maxCount ? MbarrierFault::TxOperand : apply(1, 0, bytes);
}

MbarrierFault Mbarrier::arriveDropExpectTx(uint32_t bytes) {
  return bytes > maxCount ? MbarrierFault::TxOperand : apply(1, 1, bytes);
}

MbarrierFault Mbarrier::incrementPending() {
  if (!live)
    return MbarrierFault::NotInitialized;
  if (pending == maxCount)
    return MbarrierFault::CountOutOfRange;
  ++pending;
  return MbarrierFault::None;
}

uint64_t Mbarrier::state() const {
  constexpr uint64_t countMask = (1u << 20) - 1, txMask = (1u << 21) - 1;
  uint64_t bits = (phase & 1) << 63;
  bits |= (((1u << 20) - uint64_t(pending)) & countMask) << 43;
  bits |= (uint64_t(-int64_t(tx)) & txMask) << 21;
  bits |= (((1u << 20) - uint64_t(expected)) & countMask) << 1;
  return bits;
}

bool Mbarrier::completed(uint64_t state) const {
  return (state >> 63) != (phase & 1);
}

uint32_t Mbarrier::pendingCount(uint64_t state) {
  return (1u << 20) - uint32_t((state >> 43) & ((1u << 20) - 1));
}

std::string Mbarrier::describeState() const {
  if (!live)
    return "not initialized";
  return "phase " + std::to_string(phase) + ", " + std::to_string(pending) +
         " of " + std::to_string(expected) + " arrivals pending, tx " +
         std::to_string(tx);
}

} // namespace ptxsim
