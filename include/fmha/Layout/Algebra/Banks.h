//===- Banks.h - Bank conflicts of shared memory ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared memory has 32 banks of 4 bytes. A warp accesses 128 bytes at a time:
// with 16 bytes for each thread, 8 threads form a phase. A phase takes as many
// passes as one bank has different words in it.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_BANKS_H
#define FMHA_LAYOUT_ALGEBRA_BANKS_H

#include "fmha/Layout/Algebra/Swizzle.h"
#include "fmha/Layout/Algebra/TiledCopy.h"

namespace fmha::layout::algebra {

constexpr int64_t banks = 32, bankBytes = 4;

/// Threads that access shared memory together; each takes `elements` elements
/// of the layout, by their index in its domain.
struct Phase {
  std::vector<std::vector<int64_t>> threads;
  /// Passes that the phase takes: 1 without conflicts.
  int64_t passes = 1;
};

/// How one element is accessed.
struct BankOfElement {
  int64_t offset = 0, bank = 0, phase = -1;
  /// True if its bank has another word in the same phase.
  bool conflicts = false;
};

struct BankReport {
  ComposedLayout layout;
  int64_t elementBits = 0, accessBits = 0;
  std::vector<Phase> phases;
  /// By index in the domain of the layout.
  std::vector<BankOfElement> elements;

  /// Returns the passes of all phases, and those of the slowest one.
  int64_t passes() const;
  int64_t worst() const;
};

/// Returns the report of threads that follow the mode across the contiguous
/// one, as rows of a matrix, each with `accessBits`. Throws unless a mode of
/// the layout has that many contiguous bits.
BankReport bankReport(const ComposedLayout &layout, int64_t elementBits,
                      int64_t accessBits);

/// Returns the report of a copy that reads (or writes) a tensor of this layout
/// in shared memory.
enum class Side { Source, Destination };
BankReport bankReport(const ComposedLayout &layout, const TiledCopy &copy,
                      Side side);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_BANKS_H
