//===- SparseTest.cpp - tcgen05.mma.sp ------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All elements are small numbers, so that every sum is exact in any order.
//
//===----------------------------------------------------------------------===//

#include "TensorKernel.h"

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

struct Element {
  double value = 0;
  uint32_t code = 0;
};

/// A kind with one type of elements: `k` of them per instruction, `width` of
/// which have four bits of metadata.
struct Kind {
  std::string name;
  unsigned bits;
  uint32_t k, width, types;
  uint32_t vector = 0;
  bool ue4m3 = false;
};

/// `types` has the fields of the instruction descriptor.
const std::vector<Kind> kinds = {
    {"f16", 16, 32, 4, 0x490},
    {"tf32", 32, 16, 2, 0x910},
    {"f8f6f4", 8, 64, 4, 0x10},
    {"i8", 8, 64, 4, 0x4a0},
    {"mxf8f6f4.block_scale.block32", 8, 64, 4, 1u << 23, 1},
    {"mxf4.block_scale.block32", 4, 128, 8, 0x800480, 2},
    {"mxf4nvf4.block_scale.block16", 4, 128, 8, 0x480, 4, true}};

struct Case {
  Kind kind;
  unsigned group = 1;
  uint32_t m = 128, n = 32, selector = 0;
  bool weightStationary = false, aInTmem = false;
};

bool isScaled(const Kind &kind) { return kind.vector > 0; }
bool isPaired(const Kind &kind) { return kind.bits >= 16; }

Element elementOf(const Kind &kind, std::mt19937 &random) {
  if (kind.bits == 4) {
    uint32_t code = random() % 16;
    return {SmallFormat{2, 1}.value(code), code};
  }
  int number = int(random() % 17) - 8;
  float value = float(number);
  if (kind.bits == 16)
    return {value, encodeBF16(value)};
  if (kind.bits == 32)
    return {value, std::bit_cast<uint32_t>(value)};
  if (kind.name == "i8")
    return {value, uint32_t(number) & 0xff};
  uint32_t code = 0;
  while (SmallFormat{4, 3}.value(code) != number)
    ++code;
  return {value, code};
}

class Problem {
public:
  Problem(const Case &c, unsigned seed)
      : c(c), random(seed), kernel(makeTensorKernel(c.group, 32768, 128)) {
    const Kind &kind = c.kind;
    stored.resize(c.m * kind.k / 2);
    nibbles.resize(c.m * kind.k / kind.width);
    b.resize(c.n * kind.k);
    for (Element &element : stored)
      element = elementOf(kind, random);
    for (Element &element : b)
      element = elementOf(kind, random);
    const std::vector<uint32_t> wide = {4, 8, 12, 9, 13, 6, 14}, two = {4, 14};
    for (uint32_t &nibble : nibbles)
      nibble = kind.width == 2 ? two[random() % 2] : wide[random() % 7];
    drawScales(scaleA, c.m);
    drawScales(scaleB, c.n);
    for (unsigned cta = 0; cta < c.group; ++cta)
      place(cta);
    kernel.code = code();
  }
  void check(const Options &options);

private:
  Case c;
  std::mt19937 random;

public:
  TensorKernel kernel;

private:
  void drawScales(std::vector<Element> &scales, uint32_t rows) {
    scales.resize(rows * c.kind.vector);
    for (Element &scale : scales) {
      int exponent = int(random() % 3) - 1;
      scale = {std::ldexp(1.0, exponent),
               uint32_t(c.kind.ue4m3 ? 8 * (7 + exponent) : 127 + exponent)};
    }
  }
  uint32_t rows() const { return c.m / c.group; }
  /// Layouts with half of the lanes, and parts of the lanes with parts of N.
  bool isHalf() const { return rows() == 64 && !c.weightStationary; }
  uint32_t parts() const { return c.weightStationary ? 128 / c.m : 1; }
  uint32_t laneOf(uint32_t row) const {
    return isHalf() ? row / 16 * 32 + row % 16 : row;
  }
  std::pair<uint32_t, uint32_t> placeOfD(uint32_t row, uint32_t n) const {
    uint32_t share = c.n / parts();
    return {laneOf(row) + 128 / parts() * (n / share), n % share};
  }
  SharedMatrix matrixA() const { return {0, rows()}; }
  SharedMatrix matrixB() const { return {16384, c.n / c.group}; }
  void putElement(unsigned cta, const SharedMatrix &to, uint32_t row,
                  uint32_t x, uint32_t code) {
    uint32_t bit = x * c.kind.bits;
    putBits(kernel.ctas[cta].shared, to.address(row, bit / 8), bit % 8,
            c.kind.bits, code);
  }
  void putCell(unsigned cta, uint32_t lane, uint32_t column, uint32_t bit,
               unsigned bits, uint32_t code) {
    column += bit / 32;
    uint64_t mask = ((uint64_t(1) << bits) - 1) << bit % 32;
    uint32_t &cell = kernel.cell(cta, lane, column);
    cell = uint32_t((cell & ~mask) | uint64_t(code) << bit % 32);
  }
  void place(unsigned cta);
  void placeMetadata(unsigned cta, uint32_t row, uint32_t group, uint32_t bits);
  void placeScales(unsigned cta);
  std::string code() const;
  double productOf(uint32_t m, uint32_t n) const;

  std::vector<Element> stored, b, scaleA, scaleB;
  std::vector<uint32_t> nibbles;
};

/// The library's layouts of metadata: v numbers lanes first, then bits.
void Problem::placeMetadata(unsigned cta, uint32_t row, uint32_t group,
                            uint32_t bits) {
  const Kind &kind = c.kind;
  uint32_t k = group * kind.width, lane = laneOf(row), bit = 0;
  if (isPaired(kind)) {
    uint32_t half = kind.k / 2;
    uint32_t v = row % 8 + 128 * half * (row / 8 % 2) + 16 * (row / 16) +
                 128 * (k % half) + 8 * (k / half);
    bit = v / 128 * (kind.bits == 32 ? 2 : 1) + 32 * c.selector;
    lane = laneOf(v % 128);
  } else {
    bit = kind.bits == 4 ? k / 2 : k;
  }
  for (uint32_t part = 0; part < parts(); ++part)
    putCell(cta, lane + 128 / parts() * part, 64, bit, 4, bits);
}

void Problem::placeScales(unsigned cta) {
  for (uint32_t copy = 0; copy < 4; ++copy) {
    for (uint32_t row = 0; row < rows(); ++row)
      for (uint32_t i = 0; i < c.kind.vector; ++i)
        putCell(cta, row % 32 + 32 * copy, 80 + row / 32, 8 * i, 8,
                scaleA[(cta * rows() + row) * c.kind.vector + i].code);
    for (uint32_t n = 0; n < c.n; ++n)
      for (uint32_t i = 0; i < c.kind.vector; ++i)
        putCell(cta, n % 32 + 32 * copy, 96 + n / 32, 8 * i, 8,
                scaleB[n * c.kind.vector + i].code);
  }
}

void Problem::place(unsigned cta) {
  const Kind &kind = c.kind;
  for (uint32_t row = 0; row < rows(); ++row) {
    uint32_t m = cta * rows() + row;
    for (uint32_t x = 0; x < kind.k / 2; ++x) {
      uint32_t code = stored[m * kind.k / 2 + x].code;
      for (uint32_t part = 0; part < parts() && c.aInTmem; ++part)
        putCell(cta, laneOf(row) + 128 / parts() * part, 112, x * kind.bits,
                kind.bits, code);
      if (!c.aInTmem)
        putElement(cta, matrixA(), row, x, code);
    }
    for (uint32_t group = 0; group < kind.k / kind.width; ++group)
      placeMetadata(cta, row, group, nibbles[m * kind.k / kind.width + group]);
  }
  for (uint32_t row = 0; row < c.n / c.group; ++row)
    for (uint32_t x = 0; x < kind.k; ++x)
      putElement(cta, matrixB(), row, x,
                 b[(cta * c.n / c.group + row) * kind.k + x].code);
  placeScales(cta);
}

std::string Problem::code() const {
  const Kind &kind = c.kind;
  uint32_t word = c.selector | 4 | kind.types | c.n / 8 << 17 |
                  (isScaled(kind) ? c.m / 128 << 27 : c.m / 16 << 24);
  std::string scales = isScaled(kind) ? ", [%r4+80], [%r4+96]" : "";
  return matrixA().descriptorIn(10) + matrixB().descriptorIn(11) +
         "tcgen05.mma" + (c.weightStationary ? ".ws" : "") + ".sp" +
         kernel.groupName() + ".kind::" + kind.name + " [%r4], " +
         (c.aInTmem ? "[%r4+112]" : "%q10") + ", %q11, [%r4+64], " +
         std::to_string(word) + scales + ", 0;\n";
}

/// The product by the definition: A is expanded to K, the rest is zero.
double Problem::productOf(uint32_t m, uint32_t n) const {
  const Kind &kind = c.kind;
  std::vector<double> row(kind.k);
  uint32_t next = m * kind.k / 2;
  for (uint32_t group = 0; group < kind.k / kind.width; ++group) {
    uint32_t nibble = nibbles[m * kind.k / kind.width + group];
    uint32_t at = group * kind.width;
    if (kind.width == 2) {
      row[at + (nibble == 14)] = stored[next++].value;
      continue;
    }
    for (uint32_t position : {nibble & 3, nibble >> 2})
      for (uint32_t i = 0; i < kind.width / 4; ++i)
        row[at + position * (kind.width / 4) + i] = stored[next++].value;
  }
  double sum = 0;
  for (uint32_t x = 0; x < kind.k; ++x) {
    uint32_t s = isScaled(kind) ? x / (kind.k / kind.vector) : 0;
    double scale = isScaled(kind) ? scaleA[m * kind.vector + s].value *
                                        scaleB[n * kind.vector + s].value
                                  : 1;
    sum += row[x] * b[n * kind.k + x].value * scale;
  }
  return sum;
}

void Problem::check(const Options &options) {
  TensorKernel run = kernel;
  run.options = options;
  LaunchResult result = run.run();
  ASSERT_EQ(result.status, Status::Ok) << c.kind.name << textOf(result);
  for (uint32_t m = 0; m < c.m; ++m)
    for (uint32_t n = 0; n < c.n; ++n) {
      auto [lane, column] = placeOfD(m % rows(), n);
      uint32_t bits = run.cell(m / rows(), lane, column);
      double got = c.kind.name == "i8" ? double(int32_t(bits))
                                       : std::bit_cast<float>(bits);
      ASSERT_EQ(got, productOf(m, n))
          << c.kind.name << " m " << m << " n " << n;
    }
}

void checkAll(const std::vector<Case> &cases) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const Case &c : cases) {
    Problem problem(c, seed);
    problem.check(optionsOf(Policy::Eager));
    Options exact = optionsOf(Policy::Random, seed);
    exact.mma = MmaMode::Exact;
    problem.check(exact);
    if (testing::Test::HasFatalFailure())
      return;
  }
}

TEST(Sparse, EachKind) {
  std::vector<Case> cases;
  for (const Kind &kind : kinds)
    for (bool aInTmem : {false, true}) {
      uint32_t selector = isPaired(kind) && aInTmem;
      cases.push_back({kind, 1, 128, 32, selector, false, aInTmem});
    }
  checkAll(cases);
}

TEST(Sparse, HalfHeightAndPairs) {
  std::vector<Case> cases;
  for (const Kind &kind : kinds) {
    cases.push_back({kind, 2, 256, 32});
    if (isScaled(kind))
      continue;
    cases.push_back({kind, 1, 64, 32, isPaired(kind)});
    cases.push_back({kind, 2, 128, 32});
  }
  checkAll(cases);
}

TEST(Sparse, WeightStationary) {
  std::vector<Case> cases;
  for (const Kind &kind : kinds)
    for (uint32_t m : {32u, 64u, 128u})
      if (!isScaled(kind))
        cases.push_back({kind, 1, m, 64, 0, true, m != 64});
  checkAll(cases);
}

TEST(Sparse, MetadataWithoutAMeaningIsFound) {
  Problem problem({kinds[0]}, 1);
  problem.kernel.cell(0, 3, 64) &= ~0xffu;
  LaunchResult result = problem.kernel.run();
  EXPECT_TRUE(idsOf(result).count("mma-sparse-metadata"));
  EXPECT_NE(textOf(result).find("metadata 0 of group 0 of row 3, the first of "
                                "2"),
            std::string::npos)
      << textOf(result);
}

/// The second half of the lanes has metadata of its own.
TEST(Sparse, MetadataOfEachPartIsRead) {
  Problem problem({kinds[0], 1, 64, 64, 0, true, true}, 1);
  problem.kernel.cell(0, 64 + 3, 64) &= ~0xfu;
  std::string text = textOf(problem.kernel.run());
  EXPECT_NE(text.find("of row 67, the first of 1"), text.npos) << text;
}

std::set<std::string> idsWith(TensorKernel kernel, const std::string &from,
                              const std::string &to) {
  size_t at = kernel.code.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  kernel.code.replace(at, from.size(), to);
  return idsOf(kernel.run());
}

TEST(Sparse, IllegalOperandsAreFound) {
  Problem problem({kinds[0]}, 1);
  EXPECT_TRUE(idsWith(problem.kernel, "[%r4+64]", "[%r4+65]")
                  .count("invalid_datapath_alignment"));
  // A dense descriptor.
  std::string word = std::to_string(4 | 0x490 | 4 << 17 | 8 << 24);
  EXPECT_TRUE(idsWith(problem.kernel, word, std::to_string(0x8080490))
                  .count("sparse_mismatch_between_idesc_mod"));
  // K of B is wider than a row of the 32-byte swizzle.
  EXPECT_TRUE(idsWith(problem.kernel, "tcgen05.mma",
                      "or.b64 %q11, %q11, 0xc000000000000000;\ntcgen05.mma")
                  .count("mma-smem-descriptor"));
}

} // namespace
