//===- Manifest.h - The launch manifest, and the heading of the PTX -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_MANIFEST_H
#define FMHA_PIPELINE_MANIFEST_H

#include "fmha/Kernel/AppendAbi.h"
#include "fmha/Kernel/MergeAbi.h"
#include "fmha/Pipeline/Compiler.h"
#include "llvm/ADT/StringRef.h"

namespace fmha {

/// Returns the id of a kernel with the PTX `text`, by which a host recognizes a
/// manifest and a text of the same kernel.
std::string kernelId(llvm::StringRef text);
/// Returns the last line of the heading of PTX: "// id: ...", with the newline.
std::string idHeading(const std::string &id);

/// Returns the JSON text (schema in include/fmha/Runtime/README.md) for the
/// kernel with this memory map.
std::string launchManifest(const KernelSpec &spec,
                           const schedule::Schedule &schedule,
                           const schedule::MemoryMap &map,
                           const std::string &kernel, const std::string &id);

/// Returns the comment at the start of PTX, with the newline: version, target,
/// schedule, and the command that reproduces the text. The command has
/// `scheduleText`, the schedule as an MLIR attribute, if flags alone would not
/// make the planner choose it.
std::string ptxHeading(const KernelSpec &spec,
                       const schedule::Schedule &schedule,
                       const std::string &scheduleText,
                       PipelineSource pipeline);

/// Returns the same for a kernel of fmha.merge.
std::string mergeManifest(const MergeProblem &problem,
                          const std::string &target, const std::string &kernel,
                          const std::string &id);
std::string mergeHeading(const MergeProblem &problem,
                         const std::string &target);

/// Returns the same for a kernel of fmha.append.
std::string appendManifest(const AppendProblem &problem,
                           const std::string &target, const std::string &kernel,
                           const std::string &id);
std::string appendHeading(const AppendProblem &problem,
                          const std::string &target);

} // namespace fmha

#endif // FMHA_PIPELINE_MANIFEST_H
