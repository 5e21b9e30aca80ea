//===- Difference.h - Differences between two runs of a launch --*- C++ -*-===//
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

/// The first differing element of the first differing output.
struct ElementDifference {
  /// The output's file.
  std::string output;
  /// "[3, 17]", and the number of differing elements of all elements.
  std::string place;
  uint64_t differing = 0, elements = 0;
  /// The values, by the type of the output: "0.5", "-3", "0x0102".
  std::string first, second;
};

struct Difference {
  /// A short description: "findings deadlock at line 3, were none".
  std::string what;
  /// Absent if only status or findings differ, and if a run did not reach its
  /// end, so that its bytes are invalid.
  std::optional<ElementDifference> element;
};

/// Returns the difference between two runs of the same launch, or nullopt.
std::optional<Difference> difference(const Arguments &arguments,
                                     const Outcome &first,
                                     const Outcome &second);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_DIFFERENCE_H
