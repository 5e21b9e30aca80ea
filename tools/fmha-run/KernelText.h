//===- KernelText.h - A text in place of the compiled one -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --ptx runs a text with the manifest of the kernel that the flags describe. A
// kernel of ours says in its heading what it was made by; a text without one
// says its target alone.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_RUN_KERNELTEXT_H
#define FMHA_TOOLS_RUN_KERNELTEXT_H

#include "RunFlags.h"

namespace fmha::tools {

/// The text that stands in for the compiled one, if any. An error if it is for
/// another target.
llvm::Expected<std::optional<std::string>> readKernel(const RunFlags &flags);

/// Takes the schedule of the heading where the flags fix none. The kernel may
/// have been planned for a launch, so that what it expects of a host is not
/// what the planner would take here.
void adoptSchedule(ProblemFlags &flags, llvm::StringRef ptx);

/// An error if `text`, of the file `name`, has a heading that says that it is
/// for tensors of another element type or other head dims.
llvm::Error checkTensors(llvm::StringRef name, llvm::StringRef text,
                         const schedule::Problem &problem);

/// In what it computes something else than the compiled kernel, by their
/// headings: "--causal, and not --lse", or nothing.
std::string compareProblems(llvm::StringRef text, llvm::StringRef compiled);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_KERNELTEXT_H
