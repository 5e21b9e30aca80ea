//===- ApiTest.cpp - Memory, names, options -------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Api.h"

#include <cstring>
#include <random>
#include <vector>

namespace {

class ApiTest : public DriverTest {};

struct Name {
  const char *name;
  int version;
  const char *exported;
};
constexpr Name procs[] = {
#define DRIVER_PROC(name, version, symbol) {#name, version, #symbol},
#include "Context/ProcAddress.def"
};

TEST_F(ApiTest, EveryNameOfTheTableIsTheExportedFunction) {
  for (const Name &proc : procs) {
    void *address = nullptr;
    int status = -1;
    ASSERT_EQ(call("cuGetProcAddress_v2", proc.name, &address, proc.version,
                   uint64_t(0), &status),
              CUDA_SUCCESS);
    EXPECT_EQ(status, 0) << proc.name;
    EXPECT_EQ(address, symbol(proc.exported)) << proc.name;
    // One version earlier it is another function, or none.
    call("cuGetProcAddress_v2", proc.name, &address, proc.version - 1,
         uint64_t(0), &status);
    EXPECT_NE(address, symbol(proc.exported)) << proc.name;
  }
}

TEST_F(ApiTest, EveryResultHasItsName) {
  struct Result {
    CUresult number;
    const char *name;
  };
  constexpr Result results[] = {
#define DRIVER_RESULT(name, number, text) {CUDA_##name, "CUDA_" #name},
#include "State/Errors.def"
  };
  for (const Result &result : results) {
    const char *name = nullptr, *text = nullptr;
    EXPECT_EQ(call("cuGetErrorName", result.number, &name), CUDA_SUCCESS);
    EXPECT_STREQ(name, result.name);
    EXPECT_EQ(call("cuGetErrorString", result.number, &text), CUDA_SUCCESS);
    EXPECT_GT(std::strlen(text), 0u);
  }
  const char *name = "untouched";
  EXPECT_EQ(call("cuGetErrorName", CUresult(12345), &name),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(name, nullptr);
}

TEST_F(ApiTest, CopiesAndFillsMoveTheBytes) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr size_t size = 1003;
  std::vector<unsigned char> expected(size), got(size);
  for (auto &byte : expected)
    byte = (unsigned char)(random());
  CUdeviceptr a = allocate(size), b = allocate(size);
  ASSERT_EQ(call("cuMemcpyHtoD_v2", a, (const void *)expected.data(), size), 0);
  // Unified addressing: the address says whether memory is of the device.
  ASSERT_EQ(call("cuMemcpy", b, a, size), CUDA_SUCCESS);
  CUdeviceptr host = reinterpret_cast<CUdeviceptr>(got.data());
  ASSERT_EQ(call("cuMemcpyAsync", host, b, size, CUstream(nullptr)), 0);
  EXPECT_EQ(got, expected);
  for (int round = 0; round < 50; ++round) {
    size_t start = random() % size, count = random() % (size - start + 1);
    unsigned char byte = (unsigned char)(random());
    ASSERT_EQ(call("cuMemsetD8_v2", a + start, byte, count), CUDA_SUCCESS);
    std::fill_n(expected.begin() + std::ptrdiff_t(start), count, byte);
  }
  ASSERT_EQ(call("cuMemcpyDtoH_v2", (void *)got.data(), a, size), CUDA_SUCCESS);
  EXPECT_EQ(got, expected);
}

TEST_F(ApiTest, OverlappingDeviceCopyIsAMove) {
  std::vector<unsigned char> bytes(256), got(256);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = (unsigned char)i;
  CUdeviceptr a = allocate(256);
  call("cuMemcpyHtoD_v2", a, (const void *)bytes.data(), size_t(256));
  ASSERT_EQ(call("cuMemcpyDtoD_v2", a + 16, a, size_t(200)), CUDA_SUCCESS);
  std::memmove(bytes.data() + 16, bytes.data(), 200);
  call("cuMemcpyDtoH_v2", (void *)got.data(), a, size_t(256));
  EXPECT_EQ(got, bytes);
}

TEST_F(ApiTest, MemoryIsCountedAndGivenBackWithItsContext) {
  size_t before = 0, during = 0, after = 0, total = 0;
  constexpr size_t size = 1 << 20;
  ASSERT_EQ(call("cuMemGetInfo_v2", &before, &total), CUDA_SUCCESS);
  CUcontext other = nullptr;
  ASSERT_EQ(call("cuCtxCreate_v2", &other, 0u, 0), CUDA_SUCCESS);
  allocate(size);
  call("cuMemGetInfo_v2", &during, &total);
  EXPECT_EQ(before - during, size);
  ASSERT_EQ(call("cuCtxDestroy_v2", other), CUDA_SUCCESS);
  call("cuMemGetInfo_v2", &after, &total);
  EXPECT_EQ(after, before);
}

TEST_F(ApiTest, OptionsSayWhatTheyExpect) {
  for (auto [name, value, expected] :
       {std::tuple("policy", "slow", "eager | late | random"),
        std::tuple("seed", "-1", "2^64-1"), std::tuple("mma", "", "exact"),
        std::tuple("checks", "no-such-id", "deadlock"),
        std::tuple("target", "B200", "sm_100a"),
        std::tuple("time", "yes", "on | sass | off"),
        std::tuple("time-sms", "all", "a number"),
        std::tuple("time-sm", "first", "a number"),
        std::tuple("time-l2", "hot", "cold | warm"),
        std::tuple("time-draws", "-1", "a number"),
        std::tuple("time-draws", "10001", "a number from 0 to 10000"),
        std::tuple("color", "red", "policy")}) {
    EXPECT_EQ(call<int>("ptxsimSetOption", name, value),
              CUDA_ERROR_INVALID_VALUE)
        << name;
    EXPECT_NE(std::strstr(textCall("ptxsimLastError"), expected), nullptr)
        << name << ": " << textCall("ptxsimLastError");
  }
}

TEST_F(ApiTest, DeviceFollowsTheTarget) {
  for (auto [target, major, minor] :
       {std::tuple("sm_80", 8, 0), std::tuple("sm_90a", 9, 0),
        std::tuple("sm_103a", 10, 3)}) {
    option("target", target);
    int a = 0, b = 0;
    ASSERT_EQ(call("cuDeviceGetAttribute", &a, 75, 0), CUDA_SUCCESS);
    ASSERT_EQ(call("cuDeviceGetAttribute", &b, 76, 0), CUDA_SUCCESS);
    EXPECT_EQ(std::pair(a, b), std::pair(major, minor)) << target;
    char name[64];
    ASSERT_EQ(call("cuDeviceGetName", (char *)name, 64, 0), CUDA_SUCCESS);
    EXPECT_NE(std::strstr(name, target), nullptr) << name;
  }
}

} // namespace
