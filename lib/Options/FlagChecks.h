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

} // namespace fmha::tools

#endif // FMHA_LIB_OPTIONS_FLAGCHECKS_H
