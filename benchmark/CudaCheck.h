//===- CudaCheck.h - Errors of the CUDA runtime -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_BENCHMARK_CUDACHECK_H
#define FMHA_BENCHMARK_CUDACHECK_H

#include <cstdio>
#include <cstdlib>

/// Ends the program with the name of the error if the call fails.
#define CHECK(call)                                                            \
  do {                                                                         \
    cudaError_t error = (call);                                                \
    if (error != cudaSuccess) {                                                \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));      \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)

#endif // FMHA_BENCHMARK_CUDACHECK_H
