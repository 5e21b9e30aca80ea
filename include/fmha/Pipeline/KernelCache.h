//===- KernelCache.h - Kernels that were compiled before --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of compiled kernels, one file per kernel. The name of a file is the
// SHA-256 of its key: the module's text, every option, the versions of this
// compiler and of LLVM, the build of the program, and the ptxas where a cubin
// is asked for. Nothing of MLIR is touched to look a kernel up.
//
// Files are written under another name and renamed, so that processes may race;
// a file begins with a checksum, so that a damaged one is compiled again. A
// folder that cannot be written only costs time: one line on standard error.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_KERNELCACHE_H
#define FMHA_PIPELINE_KERNELCACHE_H

#include "fmha/Pipeline/Compiler.h"

#include <functional>

namespace fmha {

/// The results of a compilation that a host needs.
struct CompiledKernel {
  bool ok = false;
  std::vector<Diagnostic> diagnostics;
  std::string ptx, manifest;
  /// schedule::explain() and the image from ptxas, each where it was asked for.
  std::string report, cubin;
  bool fromCache = false;
};

/// One compilation. The options that stop at a level, or keep levels and LLVM
/// IR, do not count.
struct KernelRequest {
  std::string text, name;
  /// A kernel of fmha.merge; text and name do not count then, nor do options
  /// but the target.
  std::optional<MergeSpec> merge = {};
  CompileOptions options;
  bool report = false, cubin = false;
};

/// Everything that the result of `request` depends on, as text. Equal texts
/// give equal kernels.
std::string cacheKey(const KernelRequest &request);

class KernelCache {
public:
  using Warn = std::function<void(const std::string &)>;

  /// The cache that the environment names: FMHA_CACHE_DIR, or `fmha` in the
  /// user's cache folder (XDG_CACHE_HOME, ~/.cache) where that is not set.
  /// Nothing if FMHA_CACHE_DIR is empty or "off", or no folder is known.
  static std::optional<KernelCache> fromEnvironment();

  /// `warn` gets a line about a damaged entry or a folder that cannot be used;
  /// without one the first of each kind goes to standard error.
  explicit KernelCache(std::string folder, Warn warn = {});

  /// The file of the entry for `key`.
  std::string path(const std::string &key) const;
  /// The kernel stored for `key`; nothing if there is none, or none that is
  /// whole.
  std::optional<CompiledKernel> find(const std::string &key) const;
  /// Stores `kernel`, which must be ok.
  void store(const std::string &key, const CompiledKernel &kernel) const;

private:
  std::string folder;
  Warn warn;
};

/// Compiles `request`, or takes the kernel from `cache` where one is given and
/// has it. Only kernels without errors are stored.
CompiledKernel compileKernel(const KernelRequest &request,
                             const KernelCache *cache);

/// The program that assemble() runs: FMHA_PTXAS, or ptxas on the PATH; nothing
/// if there is none.
std::optional<std::string> findPtxas();

} // namespace fmha

#endif // FMHA_PIPELINE_KERNELCACHE_H
