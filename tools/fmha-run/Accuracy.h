//===- Accuracy.h - Compares outputs with the reference ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_TOOLS_RUN_ACCURACY_H
#define FMHA_TOOLS_RUN_ACCURACY_H

#include "Inputs.h"
#include "fmha/Reference/Compare.h"

namespace fmha::tools {

/// Returns the float64 attention of the rounded inputs.
reference::Result referenceOf(const HostProblem &problem,
                              const KernelSpec &spec);

/// Compares the outputs of `problem` with `expected`. `byTensorCores` says
/// whether tensor cores compute the products; plain threads compute them in
/// f32.
reference::Comparison compareWith(const reference::Result &expected,
                                  const HostProblem &problem,
                                  const KernelSpec &spec, bool byTensorCores);

/// Returns a sentence on what is out of tolerance; empty if nothing is.
std::string explainFailure(const reference::Comparison &comparison);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_ACCURACY_H
