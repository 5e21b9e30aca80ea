//===- MemoryTest.cpp - Memory and tensor maps ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MgpuTest.h"

#include <cstring>

namespace {

using namespace fmha::runtime;
using testing::HasSubstr;

class MgpuMemoryTest : public MgpuTest {};

/// A memref as it lies in memory.
template <size_t rank> struct MemRef {
  void *allocated, *aligned;
  int64_t offset, sizes[rank], strides[rank];
};

TEST_F(MgpuMemoryTest, NoBytesAreANullPointer) {
  EXPECT_EQ(mgpuMemAlloc(0, nullptr, false), nullptr);
  EXPECT_EQ(mgpuMemAlloc(0, nullptr, true), nullptr);
  mgpuMemFree(nullptr, nullptr);
  mgpuMemcpy(nullptr, nullptr, 0, nullptr);
  mgpuMemset32(nullptr, 1, 0, nullptr);
  mgpuMemset16(nullptr, 1, 0, nullptr);
  mgpuMemHostRegister(nullptr, 0);
  mgpuStreamSynchronize(nullptr);
}

TEST_F(MgpuMemoryTest, FillsHaveTheirWidth) {
  void *memory = mgpuMemAlloc(16, nullptr, false);
  mgpuMemset32(memory, 0x01020304, 4, nullptr);
  mgpuMemset16(memory, 0xABCD, 3, nullptr);
  EXPECT_EQ(read(memory, 4), (std::vector<uint32_t>{0xABCDABCD, 0x0102ABCD,
                                                    0x01020304, 0x01020304}));
  mgpuMemFree(memory, nullptr);
}

TEST_F(MgpuMemoryTest, TooManyBytesAreCounted) {
  EXPECT_FAILS(mgpuMemAlloc(uint64_t(1) << 50, nullptr, false),
               HasSubstr("cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY: out "
                         "of memory, asked for 1125899906842624 bytes"));
}

TEST_F(MgpuMemoryTest, ManagedMemoryIsTheHosts) {
  constexpr uint32_t n = 33;
  uint32_t v = 5, count = n;
  auto *memory = static_cast<uint32_t *>(mgpuMemAlloc(n * 4, nullptr, true));
  for (uint32_t i = 0; i < n; ++i)
    memory[i] = i;
  launch(function("add"), 2, 32, {&memory, &v, &count});
  mgpuStreamSynchronize(nullptr);
  for (uint32_t i = 0; i < n; ++i)
    EXPECT_EQ(memory[i], i + v);
  mgpuMemFree(memory, nullptr);
}

TEST_F(MgpuMemoryTest, DenseMemRefsAreRegistered) {
  uint32_t buffer[24] = {}, v = 5, n = 12;
  uint32_t *first = buffer + 6;
  MemRef<2> dense{buffer, buffer, 6, {3, 4}, {4, 1}};
  mgpuMemHostRegisterMemRef(2, &dense, 4);
  launch(function("add"), 1, 32, {&first, &v, &n});
  mgpuStreamSynchronize(nullptr);
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(buffer[i], i >= 6 && i < 18 ? v : 0) << i;
  EXPECT_FAILS(mgpuMemHostRegisterMemRef(2, &dense, 4),
               HasSubstr("cuMemHostRegister failed with "
                         "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"));
  mgpuMemHostUnregisterMemRef(2, &dense, 4);
  EXPECT_FAILS(mgpuMemHostUnregisterMemRef(2, &dense, 4),
               HasSubstr("CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"));
  MemRef<2> padded{buffer, buffer, 0, {3, 4}, {8, 1}};
  EXPECT_FAILS(mgpuMemHostRegisterMemRef(2, &padded, 4),
               HasSubstr("expected a dense row-major memref"));
  // One row is dense whatever its stride, and none has nothing to register.
  MemRef<2> row{buffer, buffer, 0, {1, 4}, {8, 1}};
  MemRef<2> none{buffer, buffer, 0, {0, 4}, {8, 1}};
  for (MemRef<2> *memref : {&row, &none}) {
    mgpuMemHostRegisterMemRef(2, memref, 4);
    mgpuMemHostUnregisterMemRef(2, memref, 4);
  }
}

/// Encodes with the driver's own call.
driver::TensorMap encode(const driver::Calls &calls, unsigned rank,
                         void *address, const uint64_t *dims,
                         const uint64_t *strides, const uint32_t *box) {
  const uint32_t ones[5] = {1, 1, 1, 1, 1};
  driver::TensorMap map = {};
  EXPECT_EQ(calls.encodeTiled(&map, driver::tensorBFloat16, rank, address, dims,
                              strides, box, ones, 0, 3,
                              driver::promotionL2_256B, 0),
            driver::success);
  return map;
}

TEST_F(MgpuMemoryTest, OwnTensorMapsHaveUpToFiveDimensions) {
  void *memory = mgpuMemAlloc(1 << 16, nullptr, false);
  const uint64_t dims[] = {64, 8, 4, 2, 2};
  const uint64_t strides[] = {128, 1024, 4096, 8192};
  const uint32_t box[] = {64, 4, 2, 1, 1};
  for (int rank = 1; rank <= 5; ++rank) {
    driver::TensorMap expected =
        encode(calls(), unsigned(rank), memory, dims, strides, box);
    driver::TensorMap got;
    std::memset(&got, 0xEE, sizeof got);
    mgpuFmhaEncodeTensorMap(&got, driver::tensorBFloat16, rank, memory, dims,
                            strides, box, 3);
    EXPECT_EQ(std::memcmp(&got, &expected, sizeof got), 0) << rank;
  }
  driver::TensorMap map;
  EXPECT_FAILS(mgpuFmhaEncodeTensorMap(&map, driver::tensorBFloat16, 6, memory,
                                       dims, strides, box, 3),
               HasSubstr("expected a rank from 1 to 5, got 6"));
  const uint64_t many[] = {64, (uint64_t(1) << 31) + 1};
  EXPECT_FAILS(mgpuFmhaEncodeTensorMap(&map, driver::tensorBFloat16, 2, memory,
                                       many, strides, box, 3),
               HasSubstr("expected extents of at most 2^31, got 2147483649 in "
                         "dimension 1"));
  EXPECT_FAILS(mgpuFmhaEncodeTensorMap(&map, driver::tensorBFloat16, 2,
                                       (char *)memory + 2, dims, strides, box,
                                       3),
               HasSubstr("cuTensorMapEncodeTiled failed with "
                         "CUDA_ERROR_INVALID_VALUE"));
  mgpuMemFree(memory, nullptr);
}

TEST_F(MgpuMemoryTest, MemRefsBecomeTensorMapsInDeviceMemory) {
  char *memory = static_cast<char *>(mgpuMemAlloc(1 << 16, nullptr, false));
  // A view of 4 x 8 x 64 bf16 from element 64 on, with padded rows.
  MemRef<3> view{memory, memory, 64, {4, 8, 64}, {1024, 128, 1}};
  int64_t box[] = {2, 4, 64};
  void *map = mgpuTensorMapEncodeTiledMemref(
      3, &view, driver::tensorBFloat16, 0, 3, driver::promotionL2_256B, 0, box);
  const uint64_t dims[] = {64, 8, 4}, strides[] = {256, 2048};
  const uint32_t driverBox[] = {64, 4, 2};
  driver::TensorMap expected =
      encode(calls(), 3, memory + 128, dims, strides, driverBox);
  std::vector<uint32_t> got = read(map, 32);
  EXPECT_EQ(std::memcmp(got.data(), &expected, sizeof expected), 0);
  auto again = [&] {
    return mgpuTensorMapEncodeTiledMemref(3, &view, driver::tensorBFloat16, 0,
                                          3, driver::promotionL2_256B, 0, box);
  };
  EXPECT_EQ(again(), map);
  view.offset = 128;
  EXPECT_NE(again(), map);
  view.strides[2] = 2;
  EXPECT_FAILS(again(), HasSubstr("expected an innermost stride of 1, got 2"));
  mgpuMemFree(memory, nullptr);
}

} // namespace
