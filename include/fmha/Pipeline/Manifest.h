//===- Manifest.h - The launch manifest, and the heading of the PTX -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_MANIFEST_H
#define FMHA_PIPELINE_MANIFEST_H

#include "fmha/Dialect/Tile/Transforms/MergeAbi.h"
#include "fmha/Pipeline/Compiler.h"
#include "llvm/ADT/StringRef.h"

namespace fmha {

/// Returns the id of a kernel with the PTX `text`, by which a host knows that a
/// manifest and a text are of one kernel.
std::string kernelId(llvm::StringRef text);
/// The last line of the heading of PTX: "// id: ...", newline included.
std::string idHeading(const std::string &id);

/// JSON text, schema in include/fmha/Runtime/README.md, for the kernel that has
/// this memory map.
std::string launchManifest(const KernelSpec &spec,
                           const schedule::Schedule &schedule,
                           const schedule::MemoryMap &map,
                           const std::string &kernel, const std::string &id);

/// The comment that PTX begins with, newline included: version, target,
/// schedule, and the command that makes the same text. The command gives
/// `scheduleText`, the schedule as an MLIR attribute, where the planner would
/// not make it from flags.
std::string ptxHeading(const KernelSpec &spec,
                       const schedule::Schedule &schedule,
                       const std::string &scheduleText);

/// The same of a kernel of fmha.merge.
std::string mergeManifest(const MergeProblem &problem,
                          const std::string &target, const std::string &kernel,
                          const std::string &id);
std::string mergeHeading(const MergeProblem &problem,
                         const std::string &target);

} // namespace fmha

#endif // FMHA_PIPELINE_MANIFEST_H
