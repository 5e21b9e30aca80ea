//===- AheadOfTime.h - Kernels inside C programs ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits kernels compiled for several GPUs as one C function that selects the
// kernel for the current device and launches it, in an object file, a shared
// library or a header; or as a fat binary, from which the driver selects.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_EMBEDDED_AHEADOFTIME_H
#define FMHA_PIPELINE_EMBEDDED_AHEADOFTIME_H

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace fmha {

/// One kernel for one GPU.
struct EmbeddedImage {
  std::string target, ptx, manifest;
  /// From ptxas; empty if ptxas was not found.
  std::string cubin;

  /// Compute capability of the GPU: {10, 3} of "sm_103a".
  std::pair<unsigned, unsigned> capability() const;
};

struct EmbeddedKernel {
  /// Name of the C function; the names of the other functions begin with it.
  std::string function;
  std::vector<EmbeddedImage> images;
};

/// Returns an error unless `name` can be the name of a C function.
llvm::Error checkFunctionName(const std::string &name);

/// Returns a C header that declares the functions of `kernel`.
std::string embeddedDeclarations(const EmbeddedKernel &kernel);

/// Returns a C header that defines them, images and manifests included. They
/// call libfmha_rt (include/fmha-c/Embedded.h).
std::string embeddedHeader(const EmbeddedKernel &kernel);

/// Returns an object file of this machine with the functions, images and
/// manifests of `kernel`, to be linked with libfmha_rt.
llvm::Expected<std::string> embeddedObject(const EmbeddedKernel &kernel);

/// Links `object` and the archive `launcher`, and returns the shared library.
/// It exports the functions of `kernel` and needs nothing but the C library.
/// Errors: no C++ compiler on the PATH (CXX names one), or one that fails.
llvm::Expected<std::string> linkEmbedded(const EmbeddedKernel &kernel,
                                         const std::string &object,
                                         const std::string &launcher,
                                         const std::string &soname);

/// Returns a CUDA fat binary of all images. Errors: CUDA's `fatbinary` is not
/// on the PATH, or fails.
llvm::Expected<std::string> fatBinary(const EmbeddedKernel &kernel);

} // namespace fmha

#endif // FMHA_PIPELINE_EMBEDDED_AHEADOFTIME_H
