//===- KernelCache.h - A cache of compiled kernels --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of compiled kernels, one file per kernel. The name of a file is the
// SHA-256 of its key: the module's text, every option, the versions of this
// compiler and of LLVM, the build of the program, and, for a cubin, the ptxas.
// Looking a kernel up does not use MLIR.
//
// Files are written under another name and renamed, so that several processes
// may write at once. A file begins with a checksum, so that a damaged one is
// compiled again. If the folder cannot be written, one line on standard error
// reports it.
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
  /// schedule::explain() and the image from ptxas, if requested.
  std::string report, cubin;
  bool fromCache = false;
};

/// One compilation. Options that stop at a level, or keep levels and LLVM IR,
/// are not part of the key.
struct KernelRequest {
  std::string text, name;
  /// A kernel of fmha.merge; only the target is used then, and neither text nor
  /// name.
  std::optional<MergeSpec> merge = {};
  CompileOptions options;
  bool report = false, cubin = false;
};

/// Returns everything that the result of `request` depends on, as text. Equal
/// texts give equal kernels.
std::string cacheKey(const KernelRequest &request);

class KernelCache {
public:
  using Warn = std::function<void(const std::string &)>;

  /// Returns the cache that the environment names: FMHA_CACHE_DIR, or `fmha` in
  /// the user's cache folder (XDG_CACHE_HOME, ~/.cache) where that is not set.
  /// Nothing if FMHA_CACHE_DIR is empty or "off", or no folder is known.
  static std::optional<KernelCache> fromEnvironment();

  /// `warn` gets a line about a damaged entry or a folder that cannot be used;
  /// without one the first of each kind goes to standard error.
  explicit KernelCache(std::string folder, Warn warn = {});

  /// Returns the path of the entry for `key`.
  std::string path(const std::string &key) const;
  /// Returns the kernel stored for `key`, nothing if there is none or its entry
  /// is damaged.
  std::optional<CompiledKernel> find(const std::string &key) const;
  /// Stores `kernel`, which must be ok.
  void store(const std::string &key, const CompiledKernel &kernel) const;

private:
  std::string folder;
  Warn warn;
};

/// Compiles `request`, or returns the kernel from `cache` if given and present
/// there. Only kernels without errors are stored.
CompiledKernel compileKernel(const KernelRequest &request,
                             const KernelCache *cache);

/// Returns the program that assemble() runs: FMHA_PTXAS, or ptxas on the PATH;
/// nothing if there is none.
std::optional<std::string> findPtxas();

} // namespace fmha

#endif // FMHA_PIPELINE_KERNELCACHE_H
