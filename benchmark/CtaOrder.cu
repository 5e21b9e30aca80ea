//===- CtaOrder.cu - Which CTA of an SM issues on a Hopper GPU ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures how CTAs of one SM share its issue slots and pipes: figures of
// include/fmha/PTX/Time/Costs.def. All warps repeat 16 steps for the same
// number of clocks. Each row of the results has the mean number of repetitions
// of the warps of one CTA. CTA 0 of an SM began first. Build and run:
//
//   nvcc -arch=sm_90a -O3 -cudart static benchmark/CtaOrder.cu -o cta-order
//   ./cta-order > results.csv
//
//===----------------------------------------------------------------------===//

#include "CudaCheck.h"

#include <cstdint>
#include <vector>

enum class Steps { Exponential, Fma, FmaExponential, Softmax, Max };

constexpr uint32_t kDelay = 20000, kClocks = 200000;

template <Steps steps>
__device__ void step(float &value, float &sum, float a, float b) {
  if constexpr (steps != Steps::Exponential && steps != Steps::Max)
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(value) : "f"(a), "f"(b));
  if constexpr (steps != Steps::Fma && steps != Steps::Max)
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(value));
  if constexpr (steps == Steps::Softmax)
    asm volatile("add.f32 %0, %0, %1;" : "+f"(sum) : "f"(value));
  if constexpr (steps == Steps::Max)
    asm volatile("max.f32 %0, %0, %1;" : "+f"(value) : "f"(a));
}

/// Writes for each warp how often it did all steps in kClocks clocks, which
/// begin after all CTAs have.
template <Steps steps>
__global__ void repeat(uint32_t *rounds, float a, float b) {
  float values[16];
  for (int i = 0; i < 16; ++i)
    values[i] = a * float(threadIdx.x + i);
  const uint32_t begin = uint32_t(clock()) + kDelay;
  while (int32_t(uint32_t(clock()) - begin) < 0)
    ;
  uint32_t count = 0;
  do {
#pragma unroll
    for (int i = 0; i < 16; ++i)
      step<steps>(values[i], values[(i + 8) % 16], a, b);
    ++count;
  } while (int32_t(uint32_t(clock()) - begin - kClocks) < 0);
  // ptxas deletes steps whose results are not used.
  float used = 0;
  for (float value : values)
    used += value;
  if (threadIdx.x % 32 == 0 || used == 1)
    rounds[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = count;
}

template <Steps steps>
static void run(const cudaDeviceProp &gpu, const char *name, uint32_t ctasPerSm,
                uint32_t warps) {
  const uint32_t sms = gpu.multiProcessorCount, all = sms * ctasPerSm * warps;
  const int smem = (222 << 10) / int(ctasPerSm) - 2048;
  CHECK(cudaFuncSetAttribute(
      repeat<steps>, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
  uint32_t *device;
  std::vector<uint32_t> rounds(all);
  CHECK(cudaMalloc(&device, all * sizeof(uint32_t)));
  for (int launch = 0; launch < 3; ++launch)
    repeat<steps><<<sms * ctasPerSm, 32 * warps, smem>>>(device, 0.5f, 0.25f);
  CHECK(cudaMemcpy(rounds.data(), device, all * sizeof(uint32_t),
                   cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device));
  for (uint32_t cta = 0; cta < ctasPerSm; ++cta) {
    double sum = 0;
    for (uint32_t i = 0; i < sms * warps; ++i)
      sum += rounds[cta * sms * warps + i];
    std::printf("%s,%s,%u,%u,%u,%.1f\n", gpu.name, name, ctasPerSm, warps, cta,
                sum / (sms * warps));
  }
}

template <Steps steps>
static void runAll(const cudaDeviceProp &gpu, const char *name) {
  for (uint32_t warps : {4u, 8u})
    for (uint32_t ctasPerSm : {1u, 2u, 3u})
      run<steps>(gpu, name, ctasPerSm, warps);
  run<steps>(gpu, name, 1, 12);
}

int main() {
  cudaDeviceProp gpu;
  CHECK(cudaGetDeviceProperties(&gpu, 0));
  std::printf("gpu,steps,ctas_per_sm,warps_per_cta,cta,rounds\n");
  runAll<Steps::Exponential>(gpu, "exponential");
  runAll<Steps::Fma>(gpu, "fma");
  runAll<Steps::FmaExponential>(gpu, "fma; exponential");
  runAll<Steps::Softmax>(gpu, "fma; exponential; add");
  runAll<Steps::Max>(gpu, "max");
  return 0;
}
