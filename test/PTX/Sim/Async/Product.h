//===- Product.h - Matrix products to hold kernels against ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_SIM_ASYNC_PRODUCT_H
#define FMHA_TEST_PTX_SIM_ASYNC_PRODUCT_H

#include "Kernel.h"

#include "fmha/PTX/Sim/Units/SmallFloat.h"

#include <cmath>
#include <random>

namespace ptxsim::test {

struct Problem {
  std::vector<uint16_t> a, b; // a: m x k. b: n x k, or k x n if transposed
  std::vector<double> expected, magnitude;
};

/// bf16 operands from `seed`, and their product in float64.
inline Problem makeProblem(unsigned seed, unsigned m, unsigned n, unsigned k,
                           bool bTransposed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Problem p;
  p.a.resize(m * k);
  p.b.resize(n * k);
  for (uint16_t &x : p.a)
    x = encodeBF16(normal(generator));
  for (uint16_t &x : p.b)
    x = encodeBF16(normal(generator));
  auto value = [](uint16_t bits) {
    return double(decodeElement(ElementType::BF16, bits));
  };
  p.expected.resize(m * n);
  p.magnitude.resize(m * n);
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j)
      for (unsigned x = 0; x < k; ++x) {
        double right = value(bTransposed ? p.b[x * n + j] : p.b[j * k + x]);
        p.expected[i * n + j] += value(p.a[i * k + x]) * right;
        p.magnitude[i * n + j] += std::fabs(value(p.a[i * k + x]) * right);
      }
  return p;
}

inline std::vector<uint8_t> mapOf(uint64_t address, uint64_t inner,
                                  uint64_t outer, uint32_t boxOuter) {
  TiledParams p;
  p.dataType = unsigned(MapType::BF16);
  p.rank = 2;
  p.address = address;
  p.dims = {inner, outer};
  p.strides = {0, inner * 2};
  p.box = {64, boxOuter};
  p.elementStrides = {1, 1};
  p.swizzle = unsigned(MapSwizzle::B128);
  std::array<uint8_t, 128> bytes{};
  auto why = encodeTiled(p, bytes);
  EXPECT_FALSE(why) << *why;
  return {bytes.begin(), bytes.end()};
}

inline std::string registerList(unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", %r" : "%r") + std::to_string(first + i);
  return text + "}";
}

/// The descriptor of the tile at %r2 + offset in %q<to>.
inline std::string descriptor(unsigned to, unsigned offset,
                              const char *fields) {
  std::string q = "%q" + std::to_string(to);
  return "add.u32 %r7, %r2, " + std::to_string(offset) +
         ";\nshr.u32 %r7, %r7, 4;\nand.b32 %r7, %r7, 0x3fff;\n"
         "cvt.u64.u32 " +
         q + ", %r7;\nor.b64 " + q + ", " + q + ", " + fields + ";\n";
}

} // namespace ptxsim::test

#endif // FMHA_TEST_PTX_SIM_ASYNC_PRODUCT_H
