//===- SitesTest.cpp - Places where a kernel can be broken ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sites.h"
#include "fmha/PTX/Sim/Simulator.h"
#include "fmha/PTX/Syntax/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace ptxsim;
using namespace ptxsim::mutate;
using testing::ElementsAre;

namespace {

std::string readText(const std::filesystem::path &path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Site> sitesOf(const std::string &text) {
  return sites(*syntax::parse(text, "test.ptx"));
}

std::string inKernel(const std::string &body) {
  return ".version 8.8\n.target sm_100a\n.address_size 64\n"
         ".visible .entry k(.param .u64 p)\n{\n"
         ".reg .pred %p<3>;\n.reg .b32 %r<6>;\n.reg .b64 %rd<6>;\n" +
         body + "\nret;\n}\n";
}

/// "class/change: after" of every mutant of `body`.
std::vector<std::string> changes(const std::string &body) {
  std::vector<std::string> lines;
  for (const Site &site : sitesOf(inKernel(body)))
    lines.push_back(site.group + "/" + site.name + ": " + site.after);
  return lines;
}

std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(
           std::string(FMHA_TEST_DATA) + "/corpus"))
    if (entry.path().extension() == ".ptx")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// The numbers, from 1, of the lines in which the texts differ.
std::vector<size_t> differingLines(const std::string &a, const std::string &b) {
  std::istringstream left(a), right(b);
  std::vector<size_t> lines;
  std::string one, two;
  for (size_t number = 1;; ++number) {
    bool more = bool(std::getline(left, one));
    if (bool(std::getline(right, two)) != more)
      return {0};
    if (!more)
      return lines;
    if (one != two)
      lines.push_back(number);
  }
}

TEST(SitesTest, ListsEverySiteOfASmallKernel) {
  std::vector<std::string> ids;
  for (const Site &site :
       sitesOf(readText(std::string(FMHA_TEST_DATA) +
                        "/../tools/ptx-mutate/Inputs/small.ptx")))
    ids.push_back(site.id);
  EXPECT_THAT(ids,
              ElementsAre("leader/every-lane@11", "init-count/plus-1@14",
                          "init-count/minus-1@14", "init-count/plus-1@14#2",
                          "init-count/minus-1@14#2", "init-fence/delete@15",
                          "cta-barrier/delete@17", "arrive/delete@18",
                          "arrive/double@18", "expect-tx/plus-16@18",
                          "expect-tx/minus-16@18", "expect-tx/delete@18",
                          "stage/next-barrier@18", "release/relax@18",
                          "leader/unguarded@18", "proxy-fence/delete@20",
                          "mbarrier-wait/no-wait@22", "parity/flip@22",
                          "stage/next-barrier@22", "release/relax@22",
                          "memory-fence/delete@24", "memory-fence/narrow@24",
                          "bulk-wait/delete@25", "bulk-wait/one-less@25",
                          "bulk-wait/reads-only@25", "leader/every-lane@26",
                          "setmaxnreg/plus-8@27"));
}

TEST(SitesTest, BreaksAnArriveThatExpects) {
  EXPECT_THAT(
      changes("@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+16], "
              "%r2;"),
      ElementsAre(
          "arrive/delete: ",
          "arrive/double: @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, "
          "[%r1+16], %r2; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, "
          "[%r1+16], %r2;",
          "expect-tx/plus-16: { .reg .s32 %mutant; @%p1 add.s32 %mutant, %r2, "
          "16; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+16], "
          "%mutant; }",
          "expect-tx/minus-16: { .reg .s32 %mutant; @%p1 add.s32 %mutant, "
          "%r2, -16; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, "
          "[%r1+16], %mutant; }",
          "expect-tx/delete: @%p1 mbarrier.arrive.shared::cta.b64 _, "
          "[%r1+16];",
          "stage/next-barrier: @%p1 "
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+24], %r2;",
          "release/relax: @%p1 "
          "mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, "
          "[%r1+16], %r2;",
          "leader/unguarded: mbarrier.arrive.expect_tx.shared::cta.b64 _, "
          "[%r1+16], %r2;"));
}

TEST(SitesTest, BreaksAWait) {
  EXPECT_THAT(
      changes("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, "
              "[%r1], 1;"),
      ElementsAre(
          "mbarrier-wait/no-wait: setp.eq.u32 %p1, 0, 0;",
          "parity/flip: { .reg .b32 %mutant; xor.b32 %mutant, 1, 1; "
          "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, "
          "[%r1], %mutant; }",
          "stage/next-barrier: "
          "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, "
          "[%r1+8], 1;",
          "release/relax: "
          "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p1, "
          "[%r1], 1;"));
}

TEST(SitesTest, BreaksARequestForACluster) {
  const std::string request = "clusterlaunchcontrol.try_cancel.async.shared::"
                              "cta.mbarrier::complete_tx::bytes.b128 ";
  const std::string query = "clusterlaunchcontrol.query_cancel.";
  EXPECT_THAT(
      changes("@%p1 " + request + "[%r1], [%r2+8];\n.reg .b128 %x;\n" + query +
              "is_canceled.pred.b128 %p2, %x;\n@%p2 " + query +
              "get_first_ctaid::x.b32.b128 %r3, %x;"),
      ElementsAre("stage/next-barrier: @%p1 " + request + "[%r1], [%r2+16];",
                  "stage/next-slot: @%p1 " + request + "[%r1+1024], [%r2+8];",
                  "launch-control/delete: ",
                  "launch-control/double: @%p1 " + request +
                      "[%r1], [%r2+8]; @%p1 " + request + "[%r1], [%r2+8];",
                  "leader/unguarded: " + request + "[%r1], [%r2+8];",
                  "launch-control/always: setp.eq.u32 %p2, 0, 0;",
                  "launch-control/unasked: " + query +
                      "get_first_ctaid::x.b32.b128 %r3, %x;"));
}

TEST(SitesTest, BreaksWhatBelongsToTensorMemory) {
  EXPECT_THAT(
      changes("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], "
              "64;\ntcgen05.wait::ld.sync.aligned;\n"
              "tcgen05.fence::before_thread_sync;\n"
              "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 "
              "[%rd1-8];\n"
              "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64;"),
      ElementsAre(
          "tmem-alloc/halve: { .reg .b32 %mutant; shr.b32 %mutant, 64, 1; "
          "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], "
          "%mutant; }",
          "tmem-wait/delete: ", "tcgen05-fence/delete: ", "commit/delete: ",
          "commit/next-barrier: "
          "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd1+0];",
          "commit/previous-barrier: "
          "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd1-16];",
          "tmem-alloc/delete: "));
}

TEST(SitesTest, MovesABufferByWhatItsBarrierExpects) {
  std::vector<std::string> all = changes(
      "mov.b32 %r2, 768;\n"
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], %r2;\n"
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r3], "
      "[%rd1], %r2, [%r1];");
  EXPECT_THAT(all, testing::Contains(
                       "stage/next-slot: "
                       "cp.async.bulk.shared::cta.global.mbarrier::complete_tx"
                       "::bytes [%r3+768], [%rd1], %r2, [%r1];"));
  EXPECT_THAT(all, testing::Contains(
                       "stage/next-barrier: "
                       "cp.async.bulk.shared::cta.global.mbarrier::complete_tx"
                       "::bytes [%r3], [%rd1], %r2, [%r1+8];"));
}

TEST(SitesTest, AnArrivalAheadOfItsCopyReleasesNothingMore) {
  const std::string arrive =
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64;\n";
  const std::string copy =
      "@%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
      "[%r3], [%rd1], 64, [%r1];\n";
  auto relaxes = [](const std::string &body) {
    std::vector<Site> all = sitesOf(inKernel(body));
    return std::ranges::any_of(
        all, [](const Site &site) { return site.group == "release"; });
  };
  EXPECT_FALSE(relaxes(arrive + "add.s32 %r2, %r2, 1;\n" + copy));
  // Another barrier, other threads, or not the straight line.
  EXPECT_TRUE(relaxes(arrive));
  EXPECT_TRUE(relaxes(copy + arrive));
  EXPECT_TRUE(relaxes(arrive + "add.s32 %r1, %r1, 8;\n" + copy));
  EXPECT_TRUE(relaxes(arrive + "setp.eq.u32 %p1, %r2, 0;\n" + copy));
  EXPECT_TRUE(relaxes(arrive + "LATER:\n" + copy));
  EXPECT_TRUE(relaxes(arrive + "bar.sync 0;\n" + copy));
  EXPECT_TRUE(relaxes(arrive + copy.substr(copy.find(' ') + 1)));
}

/// Launches the kernel twice in one stream, the second time programmatically.
LaunchResult runTwice(const std::string &text) {
  ptxsim::Module module = ptxsim::Module::parse(text, "test.ptx");
  Device device;
  uint64_t address = device.allocate(256);
  LaunchConfig config;
  config.entry = "k";
  config.parameters = {std::vector<uint8_t>(sizeof address)};
  std::memcpy(config.parameters[0].data(), &address, sizeof address);
  EXPECT_EQ(launch(device, module, config, {}).status, Status::Ok);
  config.programmatic = true;
  return launch(device, module, config, {});
}

TEST(SitesTest, TheWaitForTheEarlierGridIsMissed) {
  std::string text =
      inKernel("ld.param.u64 %rd1, [p];\ngriddepcontrol.wait;\n"
               "st.global.u32 [%rd1], 1;\ngriddepcontrol.launch_dependents;");
  auto module = syntax::parse(text, "test");
  std::vector<Site> all = sites(*module);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, "grid-wait/delete@" + std::to_string(all[0].line));
  EXPECT_EQ(runTwice(text).status, Status::Ok);
  LaunchResult broken = runTwice(mutant(*module, all[0]));
  ASSERT_EQ(broken.findings.size(), 1u);
  EXPECT_EQ(broken.findings[0].id, "race-global");
  EXPECT_EQ(broken.findings[0].ptxLine, all[0].line + 1);
}

TEST(SitesTest, RegistersGoByEight) {
  EXPECT_THAT(changes("setmaxnreg.inc.sync.aligned.u32 200;"),
              ElementsAre("setmaxnreg/plus-8: "
                          "setmaxnreg.inc.sync.aligned.u32 208;"));
  EXPECT_THAT(changes("setmaxnreg.dec.sync.aligned.u32 24;"),
              ElementsAre("setmaxnreg/delete: ",
                          "setmaxnreg/plus-8: "
                          "setmaxnreg.dec.sync.aligned.u32 32;"));
  EXPECT_THAT(changes("setmaxnreg.inc.sync.aligned.u32 256;"), ElementsAre());
}

TEST(SitesTest, LeavesOtherInstructionsAlone) {
  EXPECT_THAT(changes("add.s32 %r1, %r2, %r3;\nst.shared.b32 [%r1], %r2;\n"
                      "mbarrier.pending_count.b64 %r1, %rd1;"),
              ElementsAre());
}

TEST(SitesTest, MutantsOfTheCorpusParseAndChangeOneLine) {
  size_t count = 0;
  for (const std::filesystem::path &path : corpus()) {
    auto module = syntax::parse(readText(path), path.filename().string());
    std::vector<Site> all = sites(*module);
    EXPECT_FALSE(all.empty()) << path;
    for (size_t i = 0; i < all.size(); i += 7, ++count) {
      std::string text = mutant(*module, all[i]);
      EXPECT_NO_THROW(syntax::parse(text, all[i].id)) << path;
      EXPECT_THAT(differingLines(module->text, text), ElementsAre(all[i].line))
          << path << " " << all[i].id;
      EXPECT_NO_THROW(syntax::parse(probe(*module, all[i]), all[i].id));
    }
  }
  EXPECT_GT(count, 300u);
}

TEST(SitesTest, TheSameTextHasTheSameMutants) {
  std::string text = readText(corpus().front());
  auto first = syntax::parse(text, "a"), second = syntax::parse(text, "b");
  std::vector<Site> a = sites(*first), b = sites(*second);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].id, b[i].id);
    EXPECT_EQ(mutant(*first, a[i]), mutant(*second, b[i]));
  }
}

TEST(SitesTest, KeepsTheNumbersOfLinesAfterAnInstructionOfSeveralLines) {
  std::string text =
      inKernel("mbarrier.arrive.shared::cta.b64 // why\n _,\n [%r1];\n"
               "bar.sync 0;");
  auto module = syntax::parse(text, "test");
  Site first = sites(*module).front();
  std::string broken = mutant(*module, first);
  EXPECT_EQ(std::count(broken.begin(), broken.end(), '\n'),
            std::count(text.begin(), text.end(), '\n'));
  EXPECT_EQ(first.before, "mbarrier.arrive.shared::cta.b64 _, [%r1];");
  EXPECT_EQ(sites(*syntax::parse(broken, "test")).back().line,
            sites(*module).back().line);
}

} // namespace
