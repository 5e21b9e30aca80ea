//===- BlockScaleTest.cpp - tcgen05.mma with scale factors ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../Units/ScaledOracle.h"
#include "TensorKernel.h"

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

struct Type {
  const char *name;
  SmallFormat format;
  unsigned bits;
  uint32_t code;
};

const std::vector<Type> narrow = {{"e4m3", {4, 3}, 8, 0},
                                  {"e5m2", {5, 2}, 8, 1},
                                  {"e2m3", {2, 3}, 6, 3},
                                  {"e3m2", {3, 2}, 6, 4},
                                  {"e2m1", {2, 1}, 4, 5}};
const Type packed = {"e2m1", {2, 1}, 4, 1};

struct Case {
  std::string kind, qualifier;
  Type a, b;
  uint32_t vector, idA, idB;
  bool ue4m3 = false;
  unsigned group = 1;
  uint32_t m = 128, n = 64;
  bool accumulate = true, negateA = false, aInTmem = false;
};

/// A problem with random operands, laid out by the figures of the manual and
/// the layouts of the vendor's library.
class Problem {
public:
  Problem(const Case &c, unsigned seed)
      : c(c), random(seed), k(isPacked() ? 64 : 32),
        kernel(makeTensorKernel(c.group, 16384, 128)) {
    a = draw(c.a, c.m);
    b = draw(c.b, c.n);
    scaleA = drawScales(c.m);
    scaleB = drawScales(c.n);
    for (unsigned cta = 0; cta < c.group; ++cta)
      place(cta);
    kernel.code = code();
  }

  /// Runs the kernel and compares each element of D.
  void check(const Options &options, double tolerance);

private:
  Case c;
  std::mt19937 random;
  uint32_t k;

public:
  TensorKernel kernel;

private:
  bool isPacked() const { return c.kind != "mxf8f6f4"; }
  std::vector<uint32_t> draw(const Type &type, uint32_t rows) {
    std::vector<uint32_t> codes(rows * k);
    for (uint32_t &code : codes)
      // Codes of 8 bits stay below infinity and NaN.
      do
        code = random() & ((1u << type.bits) - 1);
      while (type.bits == 8 && (code & 0x78) == 0x78);
    return codes;
  }
  std::vector<uint32_t> drawScales(uint32_t rows) {
    std::vector<uint32_t> codes(rows * c.vector);
    for (uint32_t &code : codes)
      code = c.ue4m3 ? random() % 0x70 : 120 + random() % 15;
    return codes;
  }
  double scaleOf(uint32_t code) const {
    return c.ue4m3 ? SmallFormat{4, 3, false}.value(code)
                   : std::ldexp(1.0, int(code) - 127);
  }
  void place(unsigned cta);
  void placeMatrix(unsigned cta, const SharedMatrix &to, const Type &type,
                   const std::vector<uint32_t> &codes, uint32_t first);
  void placeScale(unsigned cta, uint32_t column, uint32_t id, uint32_t row,
                  uint32_t lane, unsigned copies, const uint32_t *codes);
  std::string code() const;
  uint32_t rowsOfCta() const { return c.m / c.group; }
  SharedMatrix matrixA() const { return {0, rowsOfCta()}; }
  SharedMatrix matrixB() const { return {8192, c.n / c.group}; }

  std::vector<uint32_t> a, b, scaleA, scaleB;
};

void Problem::placeMatrix(unsigned cta, const SharedMatrix &to,
                          const Type &type, const std::vector<uint32_t> &codes,
                          uint32_t first) {
  unsigned perChunk = isPacked() ? 32 : 16;
  for (uint32_t row = 0; row < to.rows; ++row)
    for (uint32_t x = 0; x < k; ++x)
      putBits(kernel.ctas[cta].shared, to.address(row, x / perChunk * 16),
              x % perChunk * type.bits, type.bits,
              codes[(first + row) * k + x]);
}

void Problem::placeScale(unsigned cta, uint32_t column, uint32_t id,
                         uint32_t row, uint32_t lane, unsigned copies,
                         const uint32_t *codes) {
  for (unsigned copy = 0; copy < copies; ++copy)
    for (uint32_t i = 0; i < c.vector; ++i) {
      uint32_t &cell = kernel.cell(cta, lane + 32 * copy, column + row / 32);
      uint32_t shift = 8 * (id + i);
      cell = (cell & ~(0xffu << shift)) | codes[i] << shift;
    }
}

/// D is in columns 0 .., A in 64 .., its scale factors in 80 .., those of B in
/// 96 ..
void Problem::place(unsigned cta) {
  uint32_t rows = rowsOfCta();
  placeMatrix(cta, matrixB(), c.b, b, cta * c.n / c.group);
  if (!c.aInTmem)
    placeMatrix(cta, matrixA(), c.a, a, cta * rows);
  else
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t x = 0; x < k; ++x) {
        unsigned bits = isPacked() ? 4 : 8, per = 32 / bits;
        uint32_t &cell = kernel.cell(cta, row, 64 + x / per);
        cell &= ~(((1u << bits) - 1) << x % per * bits);
        cell |= a[(cta * rows + row) * k + x] << x % per * bits;
      }
  for (uint32_t row = 0; row < rows; ++row)
    placeScale(cta, 80, c.idA, row, row % 32, 4,
               &scaleA[(cta * rows + row) * c.vector]);
  bool split = c.group == 2 && c.m == 128;
  for (uint32_t n = 0; n < c.n; ++n) {
    uint32_t half = split && n >= c.n / 2 ? 1 : 0;
    placeScale(cta, 96, c.idB, n - half * c.n / 2, n % 32 + 64 * half,
               split ? 2 : 4, &scaleB[n * c.vector]);
  }
  if (c.accumulate)
    for (uint32_t lane = 0; lane < 128; ++lane)
      for (uint32_t column = 0; column < c.n; ++column)
        kernel.cell(cta, lane, column) =
            std::bit_cast<uint32_t>(float(int(random() % 64) - 32));
}

std::string Problem::code() const {
  uint32_t word = c.idB << 4 | c.a.code << 7 | c.b.code << 10 |
                  uint32_t(c.negateA) << 13 | c.n / 8 << 17 |
                  uint32_t(!c.ue4m3) << 23 | c.m / 128 << 27 | c.idA << 29;
  return matrixA().descriptorIn(10) + matrixB().descriptorIn(11) +
         "setp.ne.u32 %p5, " + std::to_string(c.accumulate) +
         ", 0;\nadd.u32 %r60, %r4, 80;\nadd.u32 %r61, %r4, 96;\n"
         // The library repeats the ID in the top bits of the address.
         "or.b32 %r60, %r60, " +
         std::to_string(c.idA << 30) + ";\nadd.u32 %r62, %r4, 64;\n" +
         "tcgen05.mma" + kernel.groupName() + ".kind::" + c.kind +
         ".block_scale" + c.qualifier + " [%r4], " +
         (c.aInTmem ? "[%r62]" : "%q10") + ", %q11, " + std::to_string(word) +
         ", [%r60], [%r61], %p5;\n";
}

void Problem::check(const Options &options, double tolerance) {
  TensorKernel run = kernel;
  run.options = options;
  LaunchResult result = run.run();
  ASSERT_EQ(result.status, Status::Ok) << textOf(result);
  bool split = c.group == 2 && c.m == 128;
  for (uint32_t i = 0; i < c.m * c.n; ++i) {
    uint32_t m = i / c.n, n = i % c.n, cta = m / rowsOfCta();
    uint32_t half = split && n >= c.n / 2 ? 1 : 0;
    uint32_t lane = m % rowsOfCta() + 64 * half;
    uint32_t column = n - half * c.n / 2;
    double sum = 0, magnitude = 0;
    if (c.accumulate)
      sum = std::bit_cast<float>(kernel.cell(cta, lane, column));
    magnitude = std::fabs(sum);
    for (uint32_t x = 0; x < k; ++x) {
      uint32_t s = x / (k / c.vector);
      double product =
          c.a.format.value(a[m * k + x]) * c.b.format.value(b[n * k + x]) *
          scaleOf(scaleA[m * c.vector + s]) * scaleOf(scaleB[n * c.vector + s]);
      sum += c.negateA ? -product : product;
      magnitude += std::fabs(product);
    }
    float got = std::bit_cast<float>(run.cell(cta, lane, column));
    ASSERT_LE(std::fabs(got - sum), magnitude * tolerance)
        << c.kind << c.qualifier << " " << c.a.name << " " << c.b.name << " m "
        << m << " n " << n;
  }
}

std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (unsigned i = 0; i < narrow.size(); ++i) {
    const Type &a = narrow[i], &b = narrow[(2 * i + 1) % narrow.size()];
    cases.push_back({"mxf8f6f4", i % 2 ? ".scale_vec::1X" : ".block32", a, b, 1,
                     i % 4, (i + 1) % 4});
  }
  cases.push_back({"mxf8f6f4", "", narrow[0], narrow[1], 1, 3, 0});
  cases.push_back({"mxf4", "", packed, packed, 2, 0, 2});
  cases.push_back({"mxf4", ".scale_vec::2X", packed, packed, 2, 2, 0});
  cases.push_back({"mxf4nvf4", ".block32", packed, packed, 2, 2, 2});
  cases.push_back({"mxf4nvf4", ".block16", packed, packed, 4, 0, 0});
  cases.push_back(
      {"mxf4nvf4", ".scale_vec::4X", packed, packed, 4, 0, 0, true});
  return cases;
}

void checkAll(const std::vector<Case> &cases) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const Case &c : cases) {
    Problem problem(c, seed);
    problem.check(optionsOf(Policy::Eager), 0x1p-18);
    problem.check(optionsOf(Policy::Random, seed), 0x1p-18);
    Options exact = optionsOf(Policy::Late);
    exact.mma = MmaMode::Exact;
    problem.check(exact, 0x1p-18);
    if (testing::Test::HasFatalFailure())
      return;
  }
}

TEST(BlockScale, EachKindScalesItsBlocks) { checkAll(allCases()); }

TEST(BlockScale, AInTensorMemoryOverwritesAndNegates) {
  std::vector<Case> cases = allCases();
  for (Case &c : cases) {
    c.aInTmem = true;
    c.accumulate = false;
    c.negateA = true;
    c.n = 48;
  }
  checkAll(cases);
}

TEST(BlockScale, PairsOfCtas) {
  std::vector<Case> cases;
  for (Case c : {allCases()[0], allCases()[6], allCases()[10]})
    for (uint32_t m : {128u, 256u}) {
      c.group = 2;
      c.m = m;
      cases.push_back(c);
    }
  // The vendor's library has no such shape.
  cases.erase(cases.begin());
  checkAll(cases);
}

/// A tile of the model as the memory of a kernel, and its instruction.
TensorKernel kernelOf(const ScaledTile &tile) {
  TensorKernel kernel = makeTensorKernel(1, 16384, 128);
  SharedMatrix left{0, tile.m}, right{8192, tile.n};
  bool dense = tile.k == 64;
  auto put = [&](const SharedMatrix &to, const std::vector<uint32_t> &codes,
                 const char *type, uint32_t row, uint32_t x) {
    unsigned bits = dense ? 4 : 0, per = dense ? 32 : 16;
    for (const Type &known : narrow)
      if (!dense && known.name == std::string(type))
        bits = known.bits;
    putBits(kernel.ctas[0].shared, to.address(row, x / per * 16),
            x % per * bits, bits, codes[row * tile.k + x]);
  };
  for (uint32_t x = 0; x < tile.k; ++x) {
    for (uint32_t row = 0; row < tile.m; ++row)
      put(left, tile.left, nameOf(tile.a), row, x);
    for (uint32_t row = 0; row < tile.n; ++row)
      put(right, tile.right, nameOf(tile.b), row, x);
  }
  auto putScale = [&](uint32_t column, uint32_t row, uint32_t lane,
                      const std::vector<uint32_t> &codes) {
    uint32_t word = 0;
    for (uint32_t i = 0; i < tile.vector; ++i)
      word |= codes[row * tile.vector + i] << 8 * i;
    kernel.cell(0, lane, column + row / 32) = word;
  };
  for (uint32_t lane = 0; lane < 128; ++lane) {
    for (uint32_t row = lane % 32; row < tile.m; row += 32)
      putScale(80, row, lane, tile.scaleA);
    if (lane % 32 < tile.n)
      putScale(96, lane % 32, lane, tile.scaleB);
    for (uint32_t j = 0; j < tile.n; ++j)
      kernel.cell(0, lane, j) = tile.before[lane * tile.n + j];
  }
  auto codeOf = [&](ElementType type) {
    for (const Type &known : narrow)
      if (!dense && known.name == std::string(nameOf(type)))
        return known.code;
    return packed.code;
  };
  uint32_t word = codeOf(tile.a) << 7 | codeOf(tile.b) << 10 | 1 << 17 |
                  uint32_t(tile.scale == ElementType::UE8M0) << 23 | 1 << 27;
  kernel.code = left.descriptorIn(10) + right.descriptorIn(11) +
                "tcgen05.mma.cta_group::1." + nameOf(tile.kind) +
                ".block_scale.block" + (tile.vector == 4 ? "16" : "32") +
                " [%r4], %q10, %q11, " + std::to_string(word) +
                ", [%r4+80], [%r4+96], 1;\n";
  kernel.options.mma = MmaMode::Exact;
  return kernel;
}

/// Types, scale factors and D take effect where they are decoded.
TEST(BlockScale, KernelsGiveTheSumsOfTheModel) {
  ScaledOracle oracle;
  SCOPED_TRACE(oracle.source);
  for (const ScaledTile &tile : oracle.tiles) {
    TensorKernel kernel = kernelOf(tile);
    LaunchResult result = kernel.run();
    ASSERT_EQ(result.status, Status::Ok) << textOf(result);
    std::vector<uint32_t> got;
    for (uint32_t i = 0; i < tile.m * tile.n; ++i)
      got.push_back(kernel.cell(0, i / tile.n, i % tile.n));
    expectSums(tile, got);
  }
}

/// The tensor core may take a factor from any quarter of the lanes.
TEST(BlockScale, CopiesThatDifferAreFound) {
  Problem problem(allCases()[0], 1);
  problem.kernel.cell(0, 37, 80) ^= 1;
  EXPECT_TRUE(idsOf(problem.kernel.run()).count("mma-copies-differ"));
}

TEST(BlockScale, IllegalFormsAreRefused) {
  Problem problem(allCases()[0], 1);
  const std::string good = problem.kernel.code;
  auto replaced = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  for (const char *other :
       {".block_scale.block16", ".block_scale.scale_vec::2X", "",
        ".block_scale.collector::b0::fill"}) {
    problem.kernel.code = replaced(".block_scale.block32", other);
    EXPECT_THROW(problem.kernel.run(), Error) << other;
  }
  problem.kernel.code = replaced("kind::mxf8f6f4.block_scale.block32",
                                 "kind::mxf4nvf4.block_scale");
  EXPECT_THROW(problem.kernel.run(), Error);
  // Scale factors start in lane 0.
  problem.kernel.code =
      replaced("add.u32 %r61, %r4, 96;", "add.u32 %r61, %r4, 0x200060;");
  EXPECT_TRUE(idsOf(problem.kernel.run()).count("invalid_datapath_alignment"));
}

} // namespace
