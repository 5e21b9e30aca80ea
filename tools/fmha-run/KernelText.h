//===- KernelText.h - PTX that replaces the compiled kernel -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --ptx runs a text with the manifest of the kernel that the flags describe.
// The heading of a generated kernel has the flags that it was compiled with; a
// text without a heading gives only its target.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_RUN_KERNELTEXT_H
#define FMHA_TOOLS_RUN_KERNELTEXT_H

#include "RunFlags.h"

namespace fmha::tools {

/// Returns the text that replaces the compiled kernel, if any. Fails if it is
/// for another target.
llvm::Expected<std::optional<std::string>> readKernel(const RunFlags &flags);

/// Sets fields of the schedule from the heading unless the flags set them, and
/// whether the kernel appends new keys. The kernel may have been planned for a
/// launch, so its requirements on a host may differ from the planner's choice
/// here.
void adoptSchedule(ProblemFlags &flags, llvm::StringRef ptx);

/// Fails if `text`, of the file `name`, has a heading for tensors of another
/// element type or other head dims.
llvm::Error checkTensors(llvm::StringRef name, llvm::StringRef text,
                         const schedule::Problem &problem);

/// Returns how the problem of `text` differs from that of the compiled kernel,
/// by their headings: "--causal, and not --lse", or an empty string.
std::string compareProblems(llvm::StringRef text, llvm::StringRef compiled);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_KERNELTEXT_H
