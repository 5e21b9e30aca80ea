//===- FlagChecks.h - Check combinations of flags -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_OPTIONS_FLAGCHECKS_H
#define FMHA_LIB_OPTIONS_FLAGCHECKS_H

#include "fmha/Options/ProblemFlags.h"

namespace fmha::tools {

/// Returns an error if a flag of `problem` needs a flag that is missing, or
/// excludes one that is given.
llvm::Error checkTogether(const ProblemFlags &flags,
                          const schedule::Problem &problem);

/// Returns an error if a flag contradicts the op of the input file.
llvm::Error checkAgainst(const ProblemFlags &flags, const KernelSpec &spec);

/// Sets the extents that the file fixes. A flag may only repeat them.
llvm::Error adoptExtents(ProblemFlags &flags, const KernelSpec &spec);

} // namespace fmha::tools

#endif // FMHA_LIB_OPTIONS_FLAGCHECKS_H
