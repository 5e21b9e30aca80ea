//===- OrderTest.cpp - The order that a compiler gives instructions -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is expected of exponentials and sums is what ptxas 13.0 makes of the
// softmax of attention kernels for sm_90a.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include <algorithm>

using namespace ptxsim;
using namespace ptxsim::timing;
using namespace ptxsim::timing::test;

namespace {

constexpr unsigned n = 56;

/// FMAs, an exponential of each, and the sum of these, as our kernels have
/// them.
const std::string softmax =
    repeat(n, "fma.rn.ftz.f32 %f#, %f200, %f201, %f202;") +
    repeat(n, "ex2.approx.ftz.f32 %f#, %f#;") +
    repeat(n, "add.ftz.f32 %f299, %f299, %f#;");

struct Issued {
  double at;
  std::string name;
};

/// Returns what the only warp issues, by time.
std::vector<Issued> issuedOf(const std::string &body, const Figures &figures) {
  Recording recording = record({body, 32, "sm_90a"});
  Schedule steps = schedule(recording, figures);
  std::vector<Issued> issued;
  for (size_t i = 0; i < recording.warps[0].steps.size(); ++i) {
    const Code &code = recording.codes[recording.warps[0].steps[i].code];
    std::string name = code.opcode.substr(0, code.opcode.find('.'));
    issued.push_back({steps.steps[0][i].issue, name});
  }
  std::ranges::stable_sort(issued, {}, &Issued::at);
  return issued;
}

std::vector<size_t> placesOf(const std::vector<Issued> &issued,
                             const std::string &name) {
  std::vector<size_t> places;
  for (size_t i = 0; i < issued.size(); ++i)
    if (issued[i].name == name)
      places.push_back(i);
  return places;
}

Figures hopper() { return *figuresOf("sm_90a", Level::Middle); }

TEST(Order, AnExponentialIssuesEveryEighthClockAmongFmas) {
  std::vector<size_t> places = placesOf(issuedOf(softmax, hopper()), "ex2");
  for (size_t i = 1; i < 6; ++i)
    EXPECT_EQ(places[i] - places[i - 1], 8u) << i;
}

TEST(Order, SumsFollowTheirExponentialsClosely) {
  // Without FMAs, sums come as early as the compiler's latency of exponentials
  // allows, and the warp, which is alone, then waits for their results.
  std::string text = repeat(n, "ex2.approx.ftz.f32 %f#, %f#;") +
                     repeat(n, "add.ftz.f32 %f299, %f299, %f#;");
  // A result takes longer than two further exponentials.
  Figures figures = hopper();
  figures[Figure::MufuLatency] = 18;
  Figures patient = figures;
  patient[Figure::CompilerMufuLatency] = figures[Figure::MufuLatency];
  auto firstSum = [&](const Figures &of) {
    return placesOf(issuedOf(text, of), "add").front();
  };
  auto clocksOfExponentials = [&](const Figures &of) {
    std::vector<Issued> issued = issuedOf(text, of);
    return issued[placesOf(issued, "ex2").back()].at;
  };
  EXPECT_LT(firstSum(figures), firstSum(patient));
  EXPECT_GT(clocksOfExponentials(figures), clocksOfExponentials(patient));
}

TEST(Order, SumsIssueBetweenExponentials) {
  std::vector<Issued> issued = issuedOf(softmax, hopper());
  size_t last = placesOf(issued, "ex2").back();
  std::vector<size_t> sums = placesOf(issued, "add");
  EXPECT_LE(std::ranges::count_if(sums, [&](size_t at) { return at > last; }),
            4);
}

TEST(Order, WithoutACompilerAWarpIssuesAsThePtxSays) {
  Figures figures = hopper();
  figures[Figure::CompilerReach] = 0;
  figures[Figure::Window] = 1;
  std::vector<Issued> issued = issuedOf(softmax, figures);
  EXPECT_GT(placesOf(issued, "ex2").front(), placesOf(issued, "fma").back());
}

TEST(Order, TheCompilerLooksNoFurtherThanItsReach) {
  Figures figures = hopper();
  figures[Figure::CompilerReach] = 16;
  std::vector<Issued> issued = issuedOf(softmax, figures);
  // The first exponential comes n instructions after its FMA.
  EXPECT_GE(placesOf(issued, "ex2").front(), n - 16u);
}

TEST(Order, AResultIsWaitedForAlthoughItsRegisterIsWrittenAgain) {
  // The longest way begins with the second write of %f2, which nothing needs
  // before.
  std::string body = "ex2.approx.ftz.f32 %f2, %f1;\n"
                     "add.ftz.f32 %f3, %f2, %f2;\n"
                     "fma.rn.ftz.f32 %f2, %f4, %f4, %f4;\n" +
                     repeat(n, "mul.ftz.f32 %f2, %f2, %f2;");
  Figures figures = hopper();
  figures[Figure::Window] = 1;
  std::vector<Issued> issued = issuedOf(body, figures);
  double exponential = issued[placesOf(issued, "ex2")[0]].at;
  double use = issued[placesOf(issued, "add")[0]].at;
  double again = issued[placesOf(issued, "fma")[0]].at;
  EXPECT_EQ(use - exponential, figure(Figure::MufuLatency, "sm_90a"));
  EXPECT_GT(again, use);
}

} // namespace
