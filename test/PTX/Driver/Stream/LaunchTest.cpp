//===- LaunchTest.cpp - Launches through the driver API -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Api.h"
#include "../Kernels.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

using Json = nlohmann::json;

namespace {

Json lastReport() { return Json::parse(textCall("ptxsimLastReport")); }

class LaunchTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    module = load(kernels);
  }

  CUresult runOne(const char *name, CUdeviceptr address, uint32_t number) {
    void *arguments[] = {&address, &number};
    return launch(function(module, name), 1, 1, arguments);
  }

  CUmodule module = nullptr;
};

std::vector<float> randomFloats(std::mt19937 &random, size_t count) {
  std::normal_distribution<float> normal(0, 1e3f);
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(random);
  return values;
}

TEST_F(LaunchTest, AddsVectorsOfEveryLength) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (uint32_t n : {1u, 31u, 32u, 33u, 127u, 128u, 129u, 1000u}) {
    auto a = randomFloats(random, n), b = randomFloats(random, n);
    size_t bytes = n * sizeof(float);
    CUdeviceptr da = allocate(bytes), db = allocate(bytes),
                dc = allocate(bytes);
    ASSERT_EQ(call("cuMemcpyHtoD_v2", da, (const void *)a.data(), bytes), 0);
    ASSERT_EQ(call("cuMemcpyHtoD_v2", db, (const void *)b.data(), bytes), 0);
    void *arguments[] = {&da, &db, &dc, &n};
    ASSERT_EQ(launch(function(module, "add"), (n + 63) / 64, 64, arguments), 0)
        << textCall("ptxsimLastError");
    ASSERT_EQ(synchronize(), CUDA_SUCCESS) << textCall("ptxsimLastReport");
    std::vector<float> c(n);
    ASSERT_EQ(call("cuMemcpyDtoH_v2", (void *)c.data(), dc, bytes), 0);
    for (uint32_t i = 0; i < n; ++i)
      ASSERT_EQ(c[i], a[i] + b[i]) << "element " << i << " of " << n;
    // At least one instruction per warp, and it was counted.
    EXPECT_GE(call<uint64_t>("ptxsimWarpInstructions"), (n + 31) / 32);
    EXPECT_EQ(lastReport()["status"], "ok");
  }
}

TEST_F(LaunchTest, ModuleVariablesAreInitializedAndWritable) {
  CUdeviceptr variable = 0, out = allocate(4);
  size_t bytes = 0;
  ASSERT_EQ(call("cuModuleGetGlobal_v2", &variable, &bytes, module, "factor"),
            CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  uint32_t got = 0;
  ASSERT_EQ(runOne("scale", out, 14), CUDA_SUCCESS);
  call("cuMemcpyDtoH_v2", (void *)&got, out, size_t(4));
  EXPECT_EQ(got, 42u);
  ASSERT_EQ(call("cuMemsetD32_v2", variable, 5u, size_t(1)), CUDA_SUCCESS);
  ASSERT_EQ(runOne("scale", out, 14), CUDA_SUCCESS);
  call("cuMemcpyDtoH_v2", (void *)&got, out, size_t(4));
  EXPECT_EQ(got, 70u);
}

TEST_F(LaunchTest, ReloadedModuleStartsFromItsInitialValues) {
  CUdeviceptr variable = 0, out = allocate(4);
  ASSERT_EQ(call("cuModuleGetGlobal_v2", &variable, (size_t *)nullptr, module,
                 "factor"),
            CUDA_SUCCESS);
  call("cuMemsetD32_v2", variable, 100u, size_t(1));
  ASSERT_EQ(call("cuModuleUnload", module), CUDA_SUCCESS);
  module = load(kernels);
  uint32_t got = 0;
  ASSERT_EQ(runOne("scale", out, 2), CUDA_SUCCESS);
  call("cuMemcpyDtoH_v2", (void *)&got, out, size_t(4));
  EXPECT_EQ(got, 6u);
}

TEST_F(LaunchTest, StoreOutsideFailsTheNextCallAndStays) {
  CUdeviceptr out = allocate(16);
  EXPECT_EQ(runOne("outside", out, 4096), CUDA_SUCCESS);
  EXPECT_EQ(synchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr more = 0;
  EXPECT_EQ(call("cuMemAlloc_v2", &more, size_t(16)),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  Json report = lastReport();
  EXPECT_EQ(report["status"], "findings");
  ASSERT_GE(report["findings"].size(), 1u) << report;
  EXPECT_EQ(report["findings"][0]["id"], "out-of-bounds");
  EXPECT_EQ(report["findings"][0]["ptx_line"],
            lineOf("// outside stores here"));
  call<void>("ptxsimReset");
  EXPECT_EQ(synchronize(), CUDA_SUCCESS);
}

TEST_F(LaunchTest, MisalignedStoreIsToldApart) {
  EXPECT_EQ(runOne("outside", allocate(16), 2), CUDA_SUCCESS);
  EXPECT_EQ(synchronize(), CUDA_ERROR_MISALIGNED_ADDRESS);
}

TEST_F(LaunchTest, FindingsCanBeOnlyReported) {
  option("on-finding", "report");
  EXPECT_EQ(runOne("outside", allocate(16), 4096), CUDA_SUCCESS);
  EXPECT_EQ(synchronize(), CUDA_SUCCESS);
  EXPECT_EQ(lastReport()["status"], "findings");
}

TEST_F(LaunchTest, DeadlockIsATimeoutThatNamesTheBarrier) {
  EXPECT_EQ(launch(function(module, "waits"), 1, 1, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(synchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
  Json report = lastReport();
  EXPECT_EQ(report["status"], "deadlock");
  ASSERT_GE(report["findings"].size(), 1u);
  EXPECT_EQ(report["findings"][0]["id"], "deadlock");
}

TEST_F(LaunchTest, ReportHasTheModeledTimeIfItIsOn) {
  CUdeviceptr out = allocate(4);
  ASSERT_EQ(runOne("scale", out, 14), CUDA_SUCCESS);
  EXPECT_FALSE(lastReport().contains("clocks"));
  option("time", "on");
  ASSERT_EQ(runOne("scale", out, 14), CUDA_SUCCESS);
  Json clocks = lastReport()["clocks"];
  EXPECT_GT(clocks["low"], 0);
  EXPECT_LE(clocks["low"], clocks["middle"]);
  EXPECT_LE(clocks["middle"], clocks["high"]);
  // A deadlock has no time.
  EXPECT_EQ(launch(function(module, "waits"), 1, 1, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(synchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_FALSE(lastReport().contains("clocks"));
}

TEST_F(LaunchTest, TheTimeNeedsPolicyEager) {
  option("time", "on");
  option("policy", "late");
  CUdeviceptr out = allocate(4);
  EXPECT_EQ(runOne("scale", out, 14), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(std::strstr(textCall("ptxsimLastError"), "expected policy eager"),
            nullptr)
      << textCall("ptxsimLastError");
}

TEST_F(LaunchTest, StepLimitIsATimeout) {
  option("max-steps", "1000");
  CUdeviceptr flag = allocate(4);
  void *arguments[] = {&flag};
  EXPECT_EQ(launch(function(module, "spins"), 1, 1, arguments), CUDA_SUCCESS);
  EXPECT_EQ(synchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(lastReport()["status"], "step_limit");
}

TEST_F(LaunchTest, ReportFileIsWholeJson) {
  std::string path = ::testing::TempDir() + "ptxsim-report.json";
  option("report", path.c_str());
  ASSERT_EQ(runOne("scale", allocate(4), 1), CUDA_SUCCESS);
  ASSERT_EQ(runOne("outside", allocate(16), 4096), CUDA_SUCCESS);
  std::ifstream file(path);
  Json report = Json::parse(file);
  EXPECT_EQ(report["launches"], 2);
  EXPECT_EQ(report["status"], "findings");
  EXPECT_EQ(report["reports"].size(), 1u);
  std::remove(path.c_str());
}

TEST_F(LaunchTest, EmptyGridsAndBlocksAreRefusedAndNothingRuns) {
  CUfunction f = function(module, "waits");
  for (auto [grid, block] : {std::pair(0u, 32u), std::pair(1u, 0u)})
    EXPECT_EQ(launch(f, grid, block, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(synchronize(), CUDA_SUCCESS);
  EXPECT_TRUE(lastReport().is_null());
}

TEST_F(LaunchTest, SharedMemoryAbove48KiBWantsTheAttribute) {
  CUfunction f = function(module, "scale");
  CUdeviceptr out = allocate(4);
  uint32_t one = 1;
  void *arguments[] = {&out, &one};
  EXPECT_EQ(launch(f, 1, 1, arguments, 100000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(call("cuFuncSetAttribute", f, 8, 100000), CUDA_SUCCESS);
  EXPECT_EQ(launch(f, 1, 1, arguments, 100000), CUDA_SUCCESS);
  EXPECT_EQ(launch(f, 1, 1, arguments, 100001), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaunchTest, ThreadsLaunchSideBySide) {
  constexpr unsigned threads = 4, rounds = 8;
  std::vector<uint32_t> wrong(threads, 0);
  auto work = [&](uint32_t id) {
    call("cuCtxSetCurrent", context);
    CUdeviceptr out = allocate(4);
    for (uint32_t i = 0; i < rounds; ++i) {
      uint32_t number = 1000 * id + i, got = 0;
      wrong[id] += runOne("scale", out, number) != CUDA_SUCCESS;
      call("cuMemcpyDtoH_v2", (void *)&got, out, size_t(4));
      wrong[id] += got != 3 * number;
    }
  };
  std::vector<std::thread> pool;
  for (uint32_t id = 0; id < threads; ++id)
    pool.emplace_back(work, id);
  for (std::thread &thread : pool)
    thread.join();
  EXPECT_EQ(wrong, std::vector<uint32_t>(threads, 0));
}

} // namespace
