//===- LaunchTest.cpp - Launches through libfmha_mgpu.so ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MgpuTest.h"

#include <random>
#include <thread>

namespace {

using namespace fmha::runtime;
using testing::AllOf;
using testing::HasSubstr;

class MgpuLaunchTest : public MgpuTest {};

TEST_F(MgpuLaunchTest, KernelsRunInStreamOrder) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (unsigned n : {1u, 31u, 32u, 33u, 100u}) {
    std::vector<uint32_t> expected(n), got(n, 0xDEAD);
    for (uint32_t &value : expected)
      value = uint32_t(random());
    uint32_t first = uint32_t(random()), second = uint32_t(random());
    void *a = mgpuStreamCreate(), *b = mgpuStreamCreate();
    void *event = mgpuEventCreate(), *memory = mgpuMemAlloc(n * 4, a, false);
    mgpuMemcpy(memory, expected.data(), n * 4, a);
    launch(function("add"), (n + 31) / 32, 32, {&memory, &first, &n}, 0, a);
    mgpuEventRecord(event, a);
    mgpuStreamWaitEvent(b, event);
    launch(function("add"), (n + 31) / 32, 32, {&memory, &second, &n}, 0, b);
    mgpuMemcpy(got.data(), memory, n * 4, b);
    mgpuEventRecord(event, b);
    mgpuEventSynchronize(event);
    mgpuStreamSynchronize(b);
    for (uint32_t &value : expected)
      value += first + second;
    EXPECT_EQ(got, expected) << n;
    mgpuMemFree(memory, b);
    mgpuEventDestroy(event);
    mgpuStreamDestroy(a);
    mgpuStreamDestroy(b);
  }
}

TEST_F(MgpuLaunchTest, DynamicSharedMemoryIsAllowedFirst) {
  void *memory = mgpuMemAlloc(4, nullptr, false);
  // With 40 KiB of static shared memory 8 KiB are the default's limit.
  for (uint32_t bytes : {4096u, 8192u, 8196u, 49152u, 180000u, 4096u}) {
    launch(function("shared"), 1, 1, {&memory, &bytes}, int(bytes));
    EXPECT_EQ(read(memory, 1)[0], bytes);
  }
  uint32_t tooMuch = 300000;
  EXPECT_FAILS(
      launch(function("shared"), 1, 1, {&memory, &tooMuch}, int(tooMuch)),
      AllOf(HasSubstr("cuFuncSetAttribute failed with "
                      "CUDA_ERROR_INVALID_VALUE"),
            HasSubstr("300000 bytes of dynamic shared memory")));
  mgpuMemFree(memory, nullptr);
}

TEST_F(MgpuLaunchTest, ClustersHaveTheirExtents) {
  constexpr size_t ctas = 32;
  void *memory = mgpuMemAlloc(ctas * 4, nullptr, false);
  void *arguments[] = {&memory};
  for (uint32_t cluster : {1u, 2u, 8u, 16u}) {
    mgpuMemset32(memory, 0xDEAD, ctas, nullptr);
    mgpuLaunchClusterKernel(function("rank"), cluster, 1, 1, ctas, 1, 1, 1, 1,
                            1, 0, nullptr, arguments, nullptr, 1);
    std::vector<uint32_t> ranks = read(memory, ctas);
    for (uint32_t i = 0; i < ctas; ++i)
      EXPECT_EQ(ranks[i], i % cluster) << cluster;
  }
  mgpuMemFree(memory, nullptr);
}

TEST_F(MgpuLaunchTest, MarkedKernelsStartBeforeEarlierGridsEnd) {
  auto run = [&](uint32_t waits) {
    uint32_t v = 5, n = 1;
    void *stream = mgpuStreamCreate();
    void *memory = mgpuMemAlloc(4, nullptr, false);
    mgpuMemset32(memory, 3, 1, nullptr);
    mgpuStreamSynchronize(nullptr);
    launch(function("add"), 1, 32, {&memory, &v, &n}, 0, stream);
    launch(function("early"), 1, 1, {&memory, &waits}, 0, stream);
    mgpuStreamSynchronize(stream);
    uint32_t result = read(memory, 1)[0];
    mgpuMemFree(memory, nullptr);
    mgpuStreamDestroy(stream);
    return result;
  };
  EXPECT_EQ(run(/*waits=*/1), 9u);
  EXPECT_FAILS(run(/*waits=*/0), HasSubstr("CUDA_ERROR_LAUNCH_FAILED"));
}

TEST_F(MgpuLaunchTest, GridWithoutBlocksIsNotLaunched) {
  uint32_t v = 1, n = 32;
  void *memory = mgpuMemAlloc(n * 4, nullptr, false);
  mgpuMemset32(memory, 3, n, nullptr);
  launch(function("add"), 0, 32, {&memory, &v, &n});
  EXPECT_EQ(read(memory, n), std::vector<uint32_t>(n, 3));
  EXPECT_FAILS(launch(function("add"), 1, 0, {&memory, &v, &n}),
               HasSubstr("cuLaunchKernelEx failed with "
                         "CUDA_ERROR_INVALID_VALUE"));
  mgpuMemFree(memory, nullptr);
}

TEST_F(MgpuLaunchTest, ImpossibleExtentsAreNamed) {
  EXPECT_FAILS(mgpuLaunchKernel(function("rank"), -1, 1, 1, 1, 1, 1, 0, nullptr,
                                nullptr, nullptr, 0),
               HasSubstr("expected a grid of extents from 0 to 2^32 - 1, got "
                         "(-1, 1, 1)"));
}

TEST_F(MgpuLaunchTest, FaultEndsTheProcessAtTheSynchronization) {
  uint32_t v = 1, n = 64;
  auto fault = [&] {
    std::atexit([] { std::fprintf(stderr, "exit handlers ran\n"); });
    void *memory = mgpuMemAlloc(32 * 4, nullptr, false);
    mgpuMemset32(memory, 0, 32, nullptr);
    launch(function("add"), 2, 32, {&memory, &v, &n});
    std::fprintf(stderr, "launched\n");
    mgpuStreamSynchronize(nullptr);
    std::fprintf(stderr, "not reached\n");
  };
  EXPECT_FAILS(fault(),
               AllOf(HasSubstr("launched\n"
                               "libfmha_mgpu: cuStreamSynchronize failed with "
                               "CUDA_ERROR_ILLEGAL_ADDRESS"),
                     HasSubstr("PTXSIM_REPORT"),
                     testing::Not(HasSubstr("not reached")),
                     testing::Not(HasSubstr("exit handlers ran"))));
}

TEST_F(MgpuLaunchTest, ThreadsShareAModule) {
  constexpr unsigned threads = 8, n = 64;
  std::vector<std::vector<uint32_t>> got(threads);
  std::vector<std::thread> running;
  for (uint32_t id = 0; id < threads; ++id)
    running.emplace_back([&, id]() mutable {
      uint32_t count = n;
      void *stream = mgpuStreamCreate();
      void *memory = mgpuMemAlloc(n * 4, stream, false);
      mgpuMemset32(memory, 100, n, stream);
      launch(function("add"), 2, 32, {&memory, &id, &count}, 0, stream);
      got[id].resize(n);
      mgpuMemcpy(got[id].data(), memory, n * 4, stream);
      mgpuStreamSynchronize(stream);
      mgpuMemFree(memory, stream);
      mgpuStreamDestroy(stream);
    });
  for (std::thread &thread : running)
    thread.join();
  for (uint32_t id = 0; id < threads; ++id)
    EXPECT_EQ(got[id], std::vector<uint32_t>(n, 100 + id));
}

} // namespace
