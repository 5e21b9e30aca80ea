//===- WeightStationaryTest.cpp - tcgen05.mma.ws and collector buffers ----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorKernel.h"

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

constexpr uint32_t k = 16, n = 64, maxShift = 8;

/// Where A is: tensor memory has 128 / m parts, copies of one A or one for each
/// part of the columns.
enum class Place { Shared, Copies, Parts };

/// D of m rows takes all lanes: 128 / m parts hold parts of the columns.
class Problem {
public:
  Problem(uint32_t m, unsigned seed, Place place)
      : kernel(makeTensorKernel(1, 16384, 128)), m(m), place(place) {
    std::mt19937 random(seed);
    a.resize(128 * k);
    b.resize((n + maxShift) * k);
    for (float &x : a)
      x = float(int(random() % 17) - 8);
    for (float &x : b)
      x = float(int(random() % 17) - 8);
    for (uint32_t i = 0; i < b.size(); ++i)
      putBits(kernel.ctas[0].shared, right.address(i / k, i % k * 2), 0, 16,
              encodeBF16(b[i]));
    for (uint32_t lane = 0; lane < 128; ++lane)
      for (uint32_t x = 0; x < k; ++x)
        placeA(lane, x);
  }

  /// The text of one MMA; `rest` follows the predicate, `flip` are bits to flip
  /// in the instruction descriptor.
  std::string mma(const std::string &qualifiers, const std::string &rest,
                  uint32_t flip = 0) const {
    uint32_t word = (0x490 | n / 8 << 17 | m / 16 << 24 | 1u << 30) ^ flip;
    return left.descriptorIn(10) + right.descriptorIn(11) +
           "tcgen05.mma.ws.cta_group::1.kind::f16" + qualifiers + " [%r4], " +
           (place == Place::Shared ? "%q10" : "[%r4+96]") + ", %q11, " +
           std::to_string(word) + ", 0" + rest + ";\n";
  }

  /// Compares D with A times the columns of B from `shift` on, of which `zero`
  /// says which are zero.
  template <typename Zero>
  void check(Policy policy, uint32_t shift, Zero zero) {
    TensorKernel run = kernel;
    run.options = optionsOf(policy, 3);
    LaunchResult result = run.run();
    ASSERT_EQ(result.status, Status::Ok) << textOf(result);
    uint32_t share = n * m / 128;
    for (uint32_t i = 0; i < m; ++i)
      for (uint32_t j = 0; j < n; ++j) {
        double sum = 0;
        for (uint32_t x = 0; x < k && !zero(j); ++x)
          sum += double(elementOfA(i + m * (j / share), x)) *
                 double(b[(j + shift) * k + x]);
        uint32_t bits = run.cell(0, i + m * (j / share), j % share);
        ASSERT_EQ(std::bit_cast<float>(bits), sum)
            << "m " << i << " of " << m << " n " << j;
      }
  }

  TensorKernel kernel;
  uint32_t m;

private:
  float elementOfA(uint32_t lane, uint32_t x) const {
    return a[(place == Place::Parts ? lane : lane % m) * k + x];
  }
  void placeA(uint32_t lane, uint32_t x) {
    uint32_t code = encodeBF16(elementOfA(lane, x));
    putBits(kernel.ctas[0].shared, left.address(lane, x * 2), 0, 16, code);
    uint32_t &cell = kernel.cell(0, lane, 96 + x / 2);
    cell = (cell & ~(0xffffu << 16 * (x % 2))) | code << 16 * (x % 2);
  }
  Place place;
  std::vector<float> a, b;
  SharedMatrix left{0, 128}, right{8192, n + maxShift};
};

const auto nothing = [](uint32_t) { return false; };

/// With Place::Parts one instruction computes several products, as FlashMLA
/// does for the halves of K.
TEST(WeightStationary, AInEitherMemory) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (uint32_t m : {32u, 64u, 128u})
    for (Place place : {Place::Shared, Place::Copies, Place::Parts})
      for (Policy policy : {Policy::Eager, Policy::Random}) {
        Problem problem(m, seed, place);
        problem.kernel.code = problem.mma("", "");
        problem.check(policy, 0, nothing);
      }
}

/// Example 3 of the manual: runs of three zeros and four used columns, where
/// each part of the columns starts on its own.
TEST(WeightStationary, ZeroColumnsAndShifts) {
  for (uint32_t m : {32u, 64u, 128u})
    for (uint32_t shift : {0u, 5u}) {
      Problem problem(m, 7 * m + shift, Place::Parts);
      uint64_t mask = uint64_t(1) << 32 | uint64_t(1) << 39 |
                      uint64_t(2) << 40 | uint64_t(3) << 48 |
                      uint64_t(shift) << 56;
      problem.kernel.code = "mov.b64 %q12, " + std::to_string(mask) + ";\n" +
                            problem.mma(".collector::b2::fill", ", %q12");
      problem.check(Policy::Eager, shift, [&](uint32_t j) {
        uint32_t part = n * m / 128, at = j % part;
        return j < part ? at % 7 < 3 : at % 7 >= 4;
      });
    }
}

TEST(WeightStationary, IllegalMasksAreFound) {
  Problem problem(64, 1, Place::Copies);
  problem.kernel.code = problem.mma("", ", " + std::to_string(9ull << 56));
  EXPECT_TRUE(idsOf(problem.kernel.run()).count("mma-instruction-descriptor"));
}

/// In a pair with M of 128, two parts of the lanes have halves of the columns.
TEST(Parts, OfAPairMultiplyTheirOwnA) {
  constexpr uint32_t columns = 32;
  TensorKernel kernel = makeTensorKernel(2, 4096, 64);
  std::mt19937 random(3);
  std::vector<float> a(256 * k), b(columns * k);
  for (std::vector<float> *matrix : {&a, &b})
    for (float &x : *matrix)
      x = float(int(random() % 17) - 8);
  SharedMatrix right{0, columns / 2};
  for (uint32_t i = 0; i < a.size(); i += 2)
    kernel.cell(i / k / 128, i / k % 128, 32 + i % k / 2) =
        encodeBF16(a[i]) | uint32_t(encodeBF16(a[i + 1])) << 16;
  for (uint32_t i = 0; i < b.size(); ++i)
    putBits(kernel.ctas[i / k / right.rows].shared,
            right.address(i / k % right.rows, i % k * 2), 0, 16,
            encodeBF16(b[i]));
  kernel.code = right.descriptorIn(11) +
                "tcgen05.mma.cta_group::2.kind::f16 [%r4], [%r4+32], %q11, " +
                std::to_string(0x490 | columns / 8 << 17 | 8 << 24) + ", 0;\n";
  LaunchResult result = kernel.run();
  ASSERT_EQ(result.status, Status::Ok) << textOf(result);
  for (uint32_t row = 0; row < 256; ++row)
    for (uint32_t j = 0; j < columns / 2; ++j) {
      uint32_t n = j + columns / 2 * (row % 128 / 64);
      float sum = 0;
      for (uint32_t x = 0; x < k; ++x)
        sum += a[row * k + x] * b[n * k + x];
      uint32_t bits = kernel.cell(row / 128, row % 128, j);
      ASSERT_EQ(std::bit_cast<float>(bits), sum) << row << " " << n;
    }
}

/// The ids found when B is used from the buffers as `uses` says.
std::set<std::string> idsOfUses(const std::vector<std::string> &uses) {
  Problem problem(128, 1, Place::Shared);
  for (const std::string &use : uses)
    problem.kernel.code += problem.mma(".collector::" + use, "");
  return idsOf(problem.kernel.run());
}

TEST(Collectors, AUseNeedsItsFill) {
  EXPECT_EQ(idsOfUses({"b0::fill", "b1::fill", "b0::use", "b1::lastuse"}),
            std::set<std::string>());
  const std::set<std::string> found = {"mma-collector"};
  EXPECT_EQ(idsOfUses({"b0::use"}), found);
  EXPECT_EQ(idsOfUses({"b0::fill", "b1::use"}), found);
  EXPECT_EQ(idsOfUses({"b0::fill", "b0::lastuse", "b0::use"}), found);
  EXPECT_EQ(idsOfUses({"b3::fill", "b3::discard", "b3::lastuse"}), found);
}

/// A use may read the columns of the fill shifted, in part and negated, but the
/// largest shift must be that of the fill.
TEST(Collectors, AUseMayShiftAndMask) {
  Problem problem(128, 1, Place::Shared);
  auto ids = [&](const std::string &rest, uint32_t flip) {
    problem.kernel.code = "mov.b64 %q12, " + std::to_string(5ull << 56 | 3) +
                          ";\n" + problem.mma(".collector::b0::fill", "") +
                          problem.mma(".collector::b0::use", rest, flip);
    TensorKernel run = problem.kernel;
    return idsOf(run.run());
  };
  EXPECT_EQ(ids(", %q12", 0), std::set<std::string>());
  EXPECT_EQ(ids("", 1u << 14), std::set<std::string>());
  EXPECT_EQ(ids("", 3u << 30), std::set<std::string>({"mma-collector"}));
}

/// Waits for the MMAs so far, then writes a byte in the shared memory of a CTA.
std::string writeByte(const TensorKernel &kernel, unsigned cta, uint32_t offset,
                      unsigned value) {
  std::string barrier = std::to_string(kernel.sharedBytes() + 16);
  return "mbarrier.init.shared::cta.b64 [%r2+" + barrier +
         "], 1;\nfence.mbarrier_init.release.cluster;\nadd.u32 %r60, %r2, " +
         barrier + ";\ntcgen05.commit" + kernel.groupName() +
         ".mbarrier::arrive::one.shared::cluster.b64 [%r60];\n" +
         waitFor(kernel.sharedBytes() + 16, "0", "BETWEEN") +
         "tcgen05.fence::after_thread_sync;\nmapa.shared::cluster.u32 %r61, "
         "%r2, " +
         std::to_string(cta) + ";\nmov.b32 %r62, " + std::to_string(value) +
         ";\nst.shared::cluster.b8 [%r61+" + std::to_string(offset) +
         "], %r62;\nfence.proxy.async;\n";
}

TEST(Collectors, AChangedByteOfBIsFound) {
  for (bool changes : {false, true}) {
    Problem problem(64, 1, Place::Copies);
    TensorKernel &kernel = problem.kernel;
    // The last column that the largest shift reaches.
    uint32_t offset = SharedMatrix{8192, n + maxShift}.address(n + 7, 31);
    kernel.code =
        problem.mma(".collector::b1::fill", "") +
        writeByte(kernel, 0, offset, kernel.ctas[0].shared[offset] ^ changes) +
        problem.mma(".collector::b1::use", "");
    std::set<std::string> found;
    if (changes)
      found = {"mma-collector"};
    EXPECT_EQ(idsOf(kernel.run()), found);
  }
}

/// A of each CTA of a pair has a buffer of its own.
TEST(Collectors, AChangedByteOfAIsFoundInEitherCta) {
  SharedMatrix left{0, 128}, right{8192, 16};
  for (unsigned cta : {0u, 1u})
    for (unsigned value : {0u, 1u}) {
      TensorKernel kernel = makeTensorKernel(2, 16384, 64);
      for (TensorImage &image : kernel.ctas)
        std::fill(image.shared.begin(), image.shared.end(), 0);
      auto mma = [&](const std::string &use) {
        return left.descriptorIn(10) + right.descriptorIn(11) +
               "tcgen05.mma.cta_group::2.kind::f16.collector::a::" + use +
               " [%r4], %q10, %q11, 0x10080490, 0;\n";
      };
      kernel.code =
          mma("fill") + writeByte(kernel, cta, 130, value) + mma("lastuse");
      std::set<std::string> found;
      if (value)
        found = {"mma-collector"};
      EXPECT_EQ(idsOf(kernel.run()), found) << "CTA " << cta;
    }
}

/// Without a qualifier an MMA discards what the buffer of A holds.
TEST(Collectors, AnotherMatrixIsFound) {
  TensorKernel kernel = makeTensorKernel(1, 16384, 64);
  std::fill(kernel.ctas[0].shared.begin(), kernel.ctas[0].shared.end(), 0);
  SharedMatrix left{0, 128}, other{4096, 128}, right{8192, 16};
  auto mma = [&](const SharedMatrix &a, const std::string &use) {
    return a.descriptorIn(10) + right.descriptorIn(11) +
           "tcgen05.mma.cta_group::1.kind::f16" + use +
           " [%r4], %q10, %q11, 0x08040490, 0;\n";
  };
  auto ids = [&](const std::string &code) {
    kernel.code = code;
    TensorKernel run = kernel;
    return idsOf(run.run());
  };
  std::string fill = mma(left, ".collector::a::fill");
  EXPECT_TRUE(ids(fill + mma(left, ".collector::a::use")).empty());
  EXPECT_TRUE(
      ids(fill + mma(other, ".collector::a::use")).count("mma-collector"));
  EXPECT_TRUE(ids(fill + mma(other, "") + mma(left, ".collector::a::use"))
                  .count("mma-collector"));
}

} // namespace
