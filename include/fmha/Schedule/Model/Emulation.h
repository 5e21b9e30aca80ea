//===- Emulation.h - The share of emulated exponentials ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_EMULATION_H
#define FMHA_SCHEDULE_MODEL_EMULATION_H

namespace fmha::schedule {

/// Returns the pairs that are emulated of the exponentials of `elements` scores
/// that a thread computes at once: `percent` of them, rounded to the nearest.
constexpr unsigned emulatedPairs(unsigned elements, unsigned percent) {
  return (elements / 2 * percent + 50) / 100;
}

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_EMULATION_H
