//===- Append.h - New tokens, appended before attention ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With --key-new or --rotary, a kernel of fmha.append runs before each launch
// of attention, or that of attention appends and rotates, on the caches and
// queries as they were before. What it writes
// is compared bit by bit with what the definition of the op gives.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_RUN_APPEND_H
#define FMHA_TOOLS_RUN_APPEND_H

#include "Inputs.h"
#include "fmha/Kernel/AppendAbi.h"
#include "fmha/Runtime/Append.h"

namespace fmha::tools {

struct AppendFiles {
  std::optional<runtime::NpyArray> keyNew, valueNew, cos, sin;
};

/// Returns an error if flags of an append do not fit each other.
llvm::Error checkAppendFlags(const RunFlags &flags);
llvm::Expected<AppendFiles> readAppendFiles(const RunFlags &flags);
/// Sets extents that are still unknown from the files.
void adoptExtents(ProblemFlags &flags, const AppendFiles &files);

class Append {
public:
  /// Makes the tokens and angles of a run, and removes from random caches what
  /// the tokens replace.
  static llvm::Expected<Append> create(const RunFlags &flags,
                                       const schedule::Problem &spec,
                                       const AppendFiles &files,
                                       HostProblem &problem);

  /// Returns the problem of the kernel.
  const AppendProblem &kernelProblem() const { return spec; }
  void setKernel(runtime::AppendManifest own, std::string text) {
    manifest = std::move(own);
    ptx = std::move(text);
  }

  /// Returns whether a kernel of its own appends, before that of attention.
  bool isApart() const { return !inKernel; }
  /// Returns the new keys of a sequence.
  int64_t tokens() const { return keyNew.view.dims[1]; }

  /// Restores the caches and queries of `problem`, and runs the kernel on them,
  /// or sets the new keys of `problem` for that of attention.
  llvm::Expected<runtime::LaunchReport> run(runtime::Device &device,
                                            const runtime::RunOptions &options,
                                            HostProblem &problem);
  /// Adds a finding to the report for each tensor that has other bits than the
  /// definition gives.
  void compare(const HostProblem &problem, runtime::LaunchReport &report) const;

  /// Writes what --k-cache-out and --v-cache-out ask for.
  llvm::Error writeCaches(const RunFlags &flags,
                          const HostProblem &problem) const;
  /// Sets the caches and queries of `problem` to those of the definition, for
  /// the reference of attention.
  void setExpected(HostProblem &problem) const;

private:
  llvm::Error checkKeys(const schedule::Problem &problem) const;
  llvm::Error makeTokens(const RunFlags &flags, const AppendFiles &files,
                         const HostProblem &problem);
  llvm::Error makeAngles(const AppendFiles &files, int64_t most);
  void poisonReplaced(const RunFlags &flags, HostProblem &problem);
  void define(const HostProblem &problem);
  runtime::AppendTensors tensorsOf(HostProblem &problem) const;

  /// Whether the kernel of attention appends.
  bool inKernel = false;
  AppendProblem spec;
  runtime::AppendManifest manifest;
  std::string ptx;
  HostArray keyNew, valueNew;
  /// [positions, rotary_dim / 2].
  std::vector<float> cos, sin;
  int64_t positions = 0;
  std::vector<int32_t> lens;
  /// The caches and queries before, and as the definition leaves them.
  HostArray kBefore, vBefore, qBefore, kAfter, vAfter, qAfter;
};

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_APPEND_H
