//===- AppendChecks.h - Run-time checks of fmha.append ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_TRANSFORMS_CHECKS_APPENDCHECKS_H
#define FMHA_LIB_DIALECT_FMHA_TRANSFORMS_CHECKS_APPENDCHECKS_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/Transforms/LaunchChecks.h"

namespace fmha {

/// Emits the checks of generateLaunchChecks() for `op`.
void checkAppend(mlir::OpBuilder &b, AppendOp op, ListContents lists,
                 const CheckMessage &message);
/// Emits the checks of generateListChecks() for `op`.
void checkAppendLists(mlir::OpBuilder &b, AppendOp op,
                      const CheckMessage &message);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_TRANSFORMS_CHECKS_APPENDCHECKS_H
