//===- NvccKernelsTest.cpp - Kernels as nvcc compiles them ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/data/ptx/kernels.ptx is what nvcc -arch=sm_90a -ptx makes of kernels.cu.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

class NvccKernels : public testing::Test {
protected:
  template <typename T> uint64_t upload(const std::vector<T> &values) {
    uint64_t address = device.allocate(values.size() * sizeof(T));
    device.write(address, std::as_bytes(std::span(values)));
    return address;
  }
  template <typename T> std::vector<T> download(uint64_t address, size_t n) {
    std::vector<T> values(n);
    device.read(address, std::as_writable_bytes(std::span(values)));
    return values;
  }
  template <typename T> void argument(T value) {
    Bytes bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    config.parameters.push_back(bytes);
  }
  void launchClean(const char *entry, uint32_t grid, uint32_t block,
                   const Options &options) {
    config.entry = entry;
    config.grid = {grid, 1, 1};
    config.block = {block, 1, 1};
    LaunchResult result = launch(device, module, config, options);
    EXPECT_EQ(result.status, Status::Ok) << describe(result);
    config.parameters.clear();
  }
  Module module =
      Module::parse(readFile(FMHA_TEST_DATA "/ptx/kernels.ptx"), "kernels.ptx");
  Device device;
  LaunchConfig config;
  std::mt19937 random{20261120};
};

TEST_F(NvccKernels, VectorAdd) {
  const int n = 1000;
  std::normal_distribution<float> normal;
  std::vector<float> a(n), b(n);
  for (int i = 0; i < n; ++i) {
    a[i] = normal(random);
    b[i] = normal(random);
  }
  underEveryPolicy([&](const Options &options) {
    uint64_t pa = upload(a), pb = upload(b), pc = device.allocate(n * 4);
    argument(pa);
    argument(pb);
    argument(pc);
    argument(n);
    launchClean("vector_add", 8, 128, options);
    std::vector<float> c = download<float>(pc, n);
    for (int i = 0; i < n; ++i)
      EXPECT_EQ(c[i], a[i] + b[i]) << i;
  });
}

TEST_F(NvccKernels, BlockSum) {
  const int n = 5000;
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> in(n);
  double exact = 0, magnitude = 0;
  for (float &value : in) {
    value = uniform(random);
    exact += value;
    magnitude += std::fabs(value);
  }
  underEveryPolicy([&](const Options &options) {
    uint64_t pin = upload(in), pout = upload(std::vector<float>{0});
    argument(pin);
    argument(pout);
    argument(n);
    launchClean("block_sum", 3, 256, options);
    // 7 additions per thread, 5 + 3 in trees, 3 atomics.
    double bound = magnitude * 20 * std::ldexp(1.0, -24);
    EXPECT_NEAR(download<float>(pout, 1)[0], exact, bound);
  });
}

TEST_F(NvccKernels, DivergentLoop) {
  const int n = 300;
  std::vector<uint32_t> in(n);
  for (uint32_t &value : in)
    value = 1 + random() % 100000;
  uint64_t pin = upload(in), pout = device.allocate(n * 4);
  argument(pin);
  argument(pout);
  argument(n);
  launchClean("collatz", 3, 128, Options());
  std::vector<uint32_t> steps = download<uint32_t>(pout, n);
  for (int i = 0; i < n; ++i) {
    uint32_t count = 0;
    for (uint64_t x = in[i]; x != 1; ++count)
      x = x % 2 ? 3 * x + 1 : x / 2;
    EXPECT_EQ(steps[i], count) << in[i];
  }
}

TEST_F(NvccKernels, RecursionWithDivergentDepth) {
  std::vector<uint32_t> in(32);
  for (uint32_t i = 0; i < 32; ++i)
    in[i] = i % 12;
  uint64_t pin = upload(in), pout = device.allocate(32 * 4);
  argument(pin);
  argument(pout);
  launchClean("recursion", 1, 32, Options());
  std::vector<uint32_t> out = download<uint32_t>(pout, 32);
  const uint32_t fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], fibonacci[i % 12]);
}

TEST_F(NvccKernels, SwitchAndLocalArray) {
  std::vector<uint32_t> in(64);
  for (uint32_t &value : in)
    value = uint32_t(random());
  uint64_t pin = upload(in), pout = device.allocate(64 * 4);
  argument(pin);
  argument(pout);
  launchClean("branches", 1, 64, Options());
  std::vector<uint32_t> out = download<uint32_t>(pout, 64);
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t x = in[i];
    const uint32_t cases[] = {x + 11, x * 3, x ^ 0x55, ~x, x << 3, x >> 1, 42};
    EXPECT_EQ(out[i], cases[x % 7] + x * (x % 8)) << x;
  }
}

} // namespace
