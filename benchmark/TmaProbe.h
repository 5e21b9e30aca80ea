//===- TmaProbe.h - What probes of copies share -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_BENCHMARK_TMAPROBE_H
#define FMHA_BENCHMARK_TMAPROBE_H

#include "CudaCheck.h"

#include <algorithm>
#include <cstdint>
#include <cuda.h>
#include <vector>

/// Waits for the phase `parity` of the mbarrier at `barrier`.
__device__ inline void waitFor(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  while (!done)
    asm volatile("{\n .reg .pred p;\n"
                 " mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
                 " selp.b32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
}

template <typename Value> double median(std::vector<Value> values) {
  if (values.empty())
    return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return double(values[values.size() / 2]);
}

/// Returns the tensor map of a bf16 tensor for boxes of 64 columns and `keys`
/// rows. Extents and pitches begin with the innermost; pitches are in bytes.
inline CUtensorMap tensorMap(
    void *data, std::vector<cuuint64_t> extents,
    std::vector<cuuint64_t> pitches, uint32_t keys,
    CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B) {
  void *encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode,
                                         12000, cudaEnableDefault, &found));
  CUtensorMap map;
  std::vector<cuuint32_t> box(extents.size(), 1), steps(extents.size(), 1);
  box[0] = 64;
  box[1] = keys;
  auto error = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, cuuint32_t(extents.size()), data,
      extents.data(), pitches.data(), box.data(), steps.data(),
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, promotion,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (error != CUDA_SUCCESS) {
    std::fprintf(stderr, "cuTensorMapEncodeTiled: %d\n", int(error));
    std::exit(1);
  }
  return map;
}

#endif // FMHA_BENCHMARK_TMAPROBE_H
