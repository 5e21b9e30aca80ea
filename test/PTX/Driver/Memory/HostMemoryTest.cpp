//===- HostMemoryTest.cpp - Memory that host and kernels share ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Api.h"
#include "../Kernels.h"

#include <cstring>
#include <random>
#include <vector>

namespace {

// The expected errors of wrong calls are those of an H100 with driver 580.159.
class HostMemoryTest : public DriverTest {
protected:
  /// Runs `add` over n floats.
  CUresult add(CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, unsigned n) {
    void *arguments[] = {&a, &b, &c, &n};
    return launch(function(load(kernels), "add"), (n + 31) / 32, 32, arguments);
  }

  template <typename T> T attribute(int which, const void *pointer) {
    T value = {};
    EXPECT_EQ(call("cuPointerGetAttribute", (void *)&value, which,
                   CUdeviceptr(pointer)),
              CUDA_SUCCESS)
        << which;
    return value;
  }

  void expectAttributes(void *base, size_t bytes, unsigned type, int managed) {
    for (size_t offset : {size_t(0), bytes - 1}) {
      char *pointer = static_cast<char *>(base) + offset;
      EXPECT_EQ(attribute<CUcontext>(PointerContext, pointer), context);
      EXPECT_EQ(attribute<unsigned>(PointerMemoryType, pointer), type);
      EXPECT_EQ(attribute<void *>(PointerDevicePointer, pointer), pointer);
      EXPECT_EQ(attribute<void *>(PointerHostPointer, pointer), pointer);
      EXPECT_EQ(attribute<int>(PointerIsManaged, pointer), managed);
      EXPECT_EQ(attribute<int>(PointerDeviceOrdinal, pointer), 0);
      EXPECT_EQ(attribute<void *>(PointerRangeStart, pointer), base);
      EXPECT_EQ(attribute<size_t>(PointerRangeSize, pointer), bytes);
      EXPECT_EQ(attribute<int>(PointerMapped, pointer), 1);
    }
    unsigned type2 = 0;
    EXPECT_EQ(call("cuPointerGetAttribute", (void *)&type2,
                   int(PointerMemoryType), CUdeviceptr(base) + bytes),
              CUDA_ERROR_INVALID_VALUE);
  }

  /// Host writes, a kernel that adds, fills and copies all act on one memory.
  void expectShared(float *memory, unsigned n) {
    unsigned seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<float> expected(n);
    for (unsigned i = 0; i < n; ++i)
      expected[i] = 2 * (memory[i] = float(random() % 1000));
    CUdeviceptr address = CUdeviceptr(memory);
    ASSERT_EQ(add(address, address, address, n), CUDA_SUCCESS);
    ASSERT_EQ(synchronize(), CUDA_SUCCESS);
    EXPECT_EQ(std::vector<float>(memory, memory + n), expected);
    CUdeviceptr other = allocate(n * 4);
    ASSERT_EQ(call("cuMemcpyDtoD_v2", other, address, size_t(n) * 4), 0);
    ASSERT_EQ(call("cuMemsetD32_v2", address, 0u, size_t(n)), 0);
    EXPECT_EQ(memory[n - 1], 0.0f);
    ASSERT_EQ(call("cuMemcpyDtoH_v2", (void *)memory, other, size_t(n) * 4), 0);
    EXPECT_EQ(std::vector<float>(memory, memory + n), expected);
  }
};

TEST_F(HostMemoryTest, ManagedMemoryIsTheHosts) {
  for (unsigned n : {1u, 33u, 1024u, 1025u}) {
    CUdeviceptr memory = 0;
    ASSERT_EQ(call("cuMemAllocManaged", &memory, size_t(n) * 4, 1u), 0);
    EXPECT_EQ(memory % 256, 0u);
    expectAttributes((void *)memory, n * 4, 2, 1);
    expectShared(reinterpret_cast<float *>(memory), n);
    EXPECT_EQ(call("cuMemFree_v2", memory), CUDA_SUCCESS);
    EXPECT_EQ(call("cuMemFree_v2", memory), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(HostMemoryTest, WrongManagedAllocationsAreRefused) {
  CUdeviceptr memory = 0, *none = nullptr;
  constexpr CUresult invalid = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(call("cuMemAllocManaged", &memory, size_t(0), 1u), invalid);
  EXPECT_EQ(call("cuMemAllocManaged", none, size_t(100), 1u), invalid);
  EXPECT_EQ(call("cuMemAllocManaged", &memory, size_t(100), 0u), invalid);
  EXPECT_EQ(call("cuMemAllocManaged", &memory, size_t(100), 3u), invalid);
  EXPECT_EQ(call("cuMemAllocManaged", &memory, size_t(1) << 50, 1u),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(call("cuMemAllocManaged", &memory, size_t(100), 2u), CUDA_SUCCESS);
}

TEST_F(HostMemoryTest, KernelsStayInsideManagedMemory) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(call("cuMemAllocManaged", &memory, size_t(128), 1u), CUDA_SUCCESS);
  std::memset(reinterpret_cast<void *>(memory), 0, 128);
  ASSERT_EQ(add(memory, memory, memory, 33), CUDA_SUCCESS);
  EXPECT_EQ(synchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  call<void>("ptxsimReset");
}

TEST_F(HostMemoryTest, BlocksThatRunAgainFindWhatTheyBeganWith) {
  // Neighbors write into one granule, so blocks that run in parallel are
  // stopped, their writes are undone, and they run one after another.
  constexpr unsigned blocks = 1024;
  CUfunction doubled = function(load(kernels), "add");
  CUdeviceptr memory = 0;
  unsigned n = blocks;
  ASSERT_EQ(call("cuMemAllocManaged", &memory, size_t(blocks) * 4, 1u), 0);
  auto *values = reinterpret_cast<float *>(memory);
  std::fill(values, values + blocks, 3.0f);
  void *arguments[] = {&memory, &memory, &memory, &n};
  ASSERT_EQ(launch(doubled, blocks, 1, arguments), CUDA_SUCCESS);
  ASSERT_EQ(synchronize(), CUDA_SUCCESS);
  EXPECT_EQ(std::vector<float>(values, values + blocks),
            std::vector<float>(blocks, 6.0f));
}

TEST_F(HostMemoryTest, ManagedMemoryIsCountedAndGoesWithItsContext) {
  size_t before = 0, during = 0, total = 0;
  CUcontext other = nullptr;
  CUdeviceptr memory = 0;
  ASSERT_EQ(call("cuMemGetInfo_v2", &before, &total), CUDA_SUCCESS);
  ASSERT_EQ(call("cuCtxCreate_v2", &other, 0u, 0), CUDA_SUCCESS);
  ASSERT_EQ(call("cuMemAllocManaged", &memory, size_t(5000), 1u), 0);
  call("cuMemGetInfo_v2", &during, &total);
  EXPECT_EQ(before - during, 5000u);
  ASSERT_EQ(call("cuCtxDestroy_v2", other), CUDA_SUCCESS);
  call("cuMemGetInfo_v2", &during, &total);
  EXPECT_EQ(before, during);
}

TEST_F(HostMemoryTest, RegisteredMemoryIsTheKernels) {
  for (unsigned n : {1u, 33u, 1024u, 1025u}) {
    std::vector<float> buffer(n + 2);
    float *memory = buffer.data() + 1;
    ASSERT_EQ(call("cuMemHostRegister_v2", (void *)memory, size_t(n) * 4, 0u),
              CUDA_SUCCESS);
    expectAttributes(memory, n * 4, 1, 0);
    expectShared(memory, n);
    CUdeviceptr device = 0;
    EXPECT_EQ(call("cuMemHostGetDevicePointer_v2", &device,
                   (void *)(memory + n - 1), 0u),
              CUDA_SUCCESS);
    EXPECT_EQ(device, CUdeviceptr(memory + n - 1));
    EXPECT_EQ(call("cuMemHostUnregister", (void *)memory), CUDA_SUCCESS);
    EXPECT_EQ(buffer.front(), 0.0f);
    EXPECT_EQ(buffer.back(), 0.0f);
    // It is an ordinary host pointer again.
    unsigned type = 0;
    EXPECT_EQ(call("cuPointerGetAttribute", (void *)&type,
                   int(PointerMemoryType), CUdeviceptr(memory)),
              CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(
        add(CUdeviceptr(memory), CUdeviceptr(memory), CUdeviceptr(memory), 1),
        CUDA_SUCCESS);
    EXPECT_EQ(synchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    call<void>("ptxsimReset");
  }
}

TEST_F(HostMemoryTest, WrongRegistrationsAreRefused) {
  constexpr CUresult invalid = CUDA_ERROR_INVALID_VALUE;
  std::vector<char> buffer(16384);
  void *base = buffer.data(), *middle = buffer.data() + 4096;
  CUdeviceptr device = 0, *none = nullptr;
  auto add = [](void *memory, size_t bytes, unsigned flags = 0) {
    return call("cuMemHostRegister_v2", memory, bytes, flags);
  };
  auto remove = [](void *memory) {
    return call("cuMemHostUnregister", memory);
  };
  EXPECT_EQ(call("cuMemHostGetDevicePointer_v2", &device, base, 0u), invalid);
  EXPECT_EQ(add(nullptr, 100), invalid);
  EXPECT_EQ(add(base, 0), invalid);
  EXPECT_EQ(add(base, 100, 99), invalid);
  EXPECT_EQ(remove(base), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  ASSERT_EQ(add(base, 8192), CUDA_SUCCESS);
  EXPECT_EQ(add(base, 8192), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(add(middle, 8192), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(call("cuMemHostGetDevicePointer_v2", &device, base, 1u), invalid);
  EXPECT_EQ(call("cuMemHostGetDevicePointer_v2", none, base, 0u), invalid);
  EXPECT_EQ(call("cuMemFree_v2", CUdeviceptr(base)), invalid);
  EXPECT_EQ(call("cuMemFreeHost", base), invalid);
  EXPECT_EQ(remove(middle), invalid);
  EXPECT_EQ(remove(nullptr), invalid);
  EXPECT_EQ(remove(base), CUDA_SUCCESS);
  EXPECT_EQ(remove(base), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  ASSERT_EQ(add(middle, 8192), CUDA_SUCCESS);
  EXPECT_EQ(remove(middle), CUDA_SUCCESS);
}

TEST_F(HostMemoryTest, RegistrationsEndWithTheirContext) {
  std::vector<char> buffer(100);
  void *memory = buffer.data();
  CUcontext other = nullptr;
  ASSERT_EQ(call("cuCtxCreate_v2", &other, 0u, 0), CUDA_SUCCESS);
  ASSERT_EQ(call("cuMemHostRegister_v2", memory, size_t(100), 0u), 0);
  ASSERT_EQ(call("cuCtxDestroy_v2", other), CUDA_SUCCESS);
  EXPECT_EQ(call("cuMemHostUnregister", memory),
            CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(HostMemoryTest, AllocatedHostMemoryIsTheKernels) {
  void *memory = nullptr;
  ASSERT_EQ(call("cuMemHostAlloc", &memory, size_t(132), 0u), CUDA_SUCCESS);
  expectAttributes(memory, 132, 1, 0);
  expectShared(static_cast<float *>(memory), 33);
  CUdeviceptr device = 0;
  EXPECT_EQ(call("cuMemHostGetDevicePointer_v2", &device, memory, 0u), 0);
  EXPECT_EQ(device, CUdeviceptr(memory));
  EXPECT_EQ(call("cuMemHostRegister_v2", memory, size_t(100), 0u),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(call("cuMemHostUnregister", memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(call("cuMemFreeHost", memory), CUDA_SUCCESS);
  EXPECT_EQ(call("cuMemFreeHost", memory), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostMemoryTest, LimitsAreThoseOfADevice) {
  size_t value = 77, *none = nullptr;
  for (auto [limit, bytes] :
       {std::pair(0, 1024), std::pair(1, 8650752), std::pair(2, 8388608),
        std::pair(4, 2048), std::pair(5, 64)}) {
    EXPECT_EQ(call("cuCtxGetLimit", &value, limit), CUDA_SUCCESS) << limit;
    EXPECT_EQ(value, size_t(bytes)) << limit;
  }
  EXPECT_EQ(call("cuCtxGetLimit", &value, 3), CUDA_ERROR_UNSUPPORTED_LIMIT);
  EXPECT_EQ(call("cuCtxGetLimit", &value, 99), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(call("cuCtxGetLimit", &value, -1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(call("cuCtxGetLimit", none, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(call("cuCtxSetLimit", 0, size_t(4096)), CUDA_SUCCESS);
  EXPECT_EQ(call("cuCtxGetLimit", &value, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 4096u);
  EXPECT_EQ(call("cuCtxSetLimit", 0, size_t(1024)), CUDA_SUCCESS);
}

} // namespace
