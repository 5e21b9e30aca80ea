//===- Difference.h - What two runs of a launch disagree in -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_DIFFERENCE_H
#define FMHA_TOOLS_PTXSIM_DIFFERENCE_H

#include "Run.h"

namespace ptxsim::tool {

/// The first element that differs of the first output that does.
struct ElementDifference {
  /// The file that it goes to.
  std::string output;
  /// "[3, 17]", and how many of all elements differ.
  std::string place;
  uint64_t differing = 0, elements = 0;
  /// The values, by the type of the output: "0.5", "-3", "0x0102".
  std::string first, second;
};

struct Difference {
  /// In few words: "findings deadlock at line 3, were none".
  std::string what;
  /// Absent where only status or findings differ, and where a run did not come
  /// to its end, so that its bytes mean nothing.
  std::optional<ElementDifference> element;
};

/// What differs between two runs of the same launch, or nothing.
std::optional<Difference> difference(const Arguments &arguments,
                                     const Outcome &first,
                                     const Outcome &second);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_DIFFERENCE_H
