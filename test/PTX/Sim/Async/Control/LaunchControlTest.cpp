//===- LaunchControlTest.cpp - Clusters taken out of the launch ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Kernel.h"

#include <algorithm>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

struct Pieces {
  std::string expect =
      "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64 _, [%r2], 16;";
  std::string wait = waitFor(0, "%r8", "ANSWERED");
  std::string fence = "fence.proxy.async.shared::cta;";
  std::string to = "%r3";
  /// What is done with each tile: %r10, %r11, %r12 are its first CTA, %r13 is
  /// its number.
  std::string work;
};

const std::string request =
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::"
    "bytes";
const std::string query = "clusterlaunchcontrol.query_cancel.";

/// One thread a CTA: does a tile, and those of the clusters that it cancels;
/// out[tile] counts. The CTAs of a cluster get each answer together; out[tile +
/// CTAs of the grid] is who did it, plus one.
std::string persistent(const Pieces &pieces = {}) {
  return kernelText(".param .u64 out",
                    R"(
.reg .b128 %response;
ld.param.u64 %q0, [out];
add.u32 %r3, %r2, 16;
mov.u32 %r4, %cluster_ctarank;
mov.u32 %r16, %nctaid.x; mov.u32 %r17, %nctaid.y; mov.u32 %r18, %nctaid.z;
mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ctaid.y; mov.u32 %r12, %ctaid.z;
mad.lo.u32 %r14, %r12, %r17, %r11; mad.lo.u32 %r14, %r14, %r16, %r10;
sub.u32 %r10, %r10, %r4;
mul.lo.u32 %r15, %r16, %r17; mul.lo.u32 %r15, %r15, %r18;
setp.eq.u32 %p1, %r4, 0;
mbarrier.init.shared::cta.b64 [%r2], 1;
fence.mbarrier_init.release.cluster;
mov.u32 %r8, 0;
barrier.cluster.arrive.release.aligned;
NEXT:
barrier.cluster.wait.acquire.aligned;
)" + pieces.expect + "\n@%p1 " +
                        request + ".multicast::cluster::all.b128 [" +
                        pieces.to +
                        R"(], [%r2];
mad.lo.u32 %r13, %r12, %r17, %r11; mad.lo.u32 %r13, %r13, %r16, %r10;
add.u32 %r13, %r13, %r4;
mul.wide.u32 %q1, %r13, 4; add.u64 %q1, %q1, %q0;
red.global.add.u32 [%q1], 1;
mul.wide.u32 %q2, %r15, 4; add.u64 %q2, %q1, %q2;
add.u32 %r20, %r14, 1;
st.global.u32 [%q2], %r20;
)" + pieces.work + pieces.wait +
                        R"(
ld.shared.b128 %response, [%r3];
)" + query + "is_canceled.pred.b128 %p2, %response;\n@%p2 " +
                        query +
                        "get_first_ctaid.v4.b32.b128 {%r10, %r11, %r12, _}, "
                        "%response;\n" +
                        pieces.fence + R"(
xor.b32 %r8, %r8, 1;
barrier.cluster.arrive.release.aligned;
@%p2 bra NEXT;
barrier.cluster.wait.acquire.aligned;
)");
}

struct Outcome {
  LaunchResult result;
  std::vector<uint32_t> out;
};

Outcome run(const std::string &text, Dim3 grid, const Options &options,
            Dim3 cluster = {}, unsigned threads = 1) {
  Device device;
  std::vector<uint32_t> out(2 * grid.count());
  uint64_t address = device.allocate(out.size() * 4);
  device.fill(address, std::byte(0), out.size() * 4);
  Module module = Module::parse(text, "test.ptx");
  LaunchConfig config;
  config.entry = "k";
  config.grid = grid;
  config.block = {threads, 1, 1};
  config.cluster = cluster;
  config.dynamicSharedBytes = 1024;
  config.parameters = {bytesOf(address)};
  Outcome outcome{launch(device, module, config, options), std::move(out)};
  device.read(address, std::as_writable_bytes(std::span(outcome.out)));
  return outcome;
}

std::vector<Options> schedules(unsigned seeds) {
  std::vector<Options> all = {optionsOf(Policy::Eager),
                              optionsOf(Policy::Late)};
  for (unsigned seed = 0; seed < seeds; ++seed)
    for (Policy policy : {Policy::Random, Policy::Pct})
      all.push_back(optionsOf(policy, seed));
  return all;
}

/// Who did which tile.
std::vector<uint32_t> doers(const Outcome &outcome) {
  return {outcome.out.begin() + ptrdiff_t(outcome.out.size() / 2),
          outcome.out.end()};
}

size_t clustersRun(const Outcome &outcome) {
  std::vector<uint32_t> all = doers(outcome);
  std::sort(all.begin(), all.end());
  return size_t(std::unique(all.begin(), all.end()) - all.begin());
}

void expectEachTileOnce(const Outcome &outcome) {
  EXPECT_EQ(outcome.result.status, Status::Ok) << textOf(outcome.result);
  for (size_t tile = 0; tile < outcome.out.size() / 2; ++tile)
    EXPECT_EQ(outcome.out[tile], 1u) << "tile " << tile;
}

} // namespace

TEST(LaunchControl, EachTileIsDoneOnce) {
  std::set<std::vector<uint32_t>> ways;
  for (const Options &options : schedules(12)) {
    SCOPED_TRACE(std::to_string(int(options.policy)) + " seed " +
                 std::to_string(options.scheduleSeed));
    Outcome alone = run(persistent(), {37, 1, 1}, options);
    expectEachTileOnce(alone);
    expectEachTileOnce(run(persistent(), {74, 1, 1}, options, {2, 1, 1}));
    expectEachTileOnce(run(persistent(), {6, 3, 2}, options, {2, 1, 1}));
    ways.insert(doers(alone));
  }
  // Of 24 random schedules hardly two share the tiles out alike.
  EXPECT_GT(ways.size(), 20u);
}

TEST(LaunchControl, PoliciesSayHowManyRequestsSucceed) {
  // Four clusters begin, and cancel all others.
  Outcome eager = run(persistent(), {37, 1, 1}, optionsOf(Policy::Eager));
  EXPECT_EQ(clustersRun(eager), 4u);
  // The first takes the next one before another has begun.
  EXPECT_EQ(doers(eager)[1], 1u);
  Outcome late = run(persistent(), {37, 1, 1}, optionsOf(Policy::Late));
  EXPECT_EQ(clustersRun(late), 37u);
  std::set<size_t> counts;
  for (unsigned seed = 0; seed < 12; ++seed)
    counts.insert(clustersRun(
        run(persistent(), {37, 1, 1}, optionsOf(Policy::Random, seed))));
  EXPECT_GT(counts.size(), 3u);
  EXPECT_LT(*counts.begin(), 30u);
}

TEST(LaunchControl, ThreadsOfTheHostChangeNothing) {
  for (Options options : schedules(3)) {
    std::vector<Outcome> outcomes;
    for (unsigned threads : {1u, 2u, 5u}) {
      options.threads = threads;
      outcomes.push_back(run(persistent(), {37, 1, 1}, options));
      EXPECT_EQ(outcomes.back().result.threads, 1u);
    }
    for (const Outcome &outcome : outcomes) {
      EXPECT_EQ(outcome.out, outcomes[0].out);
      EXPECT_EQ(outcome.result.warpInstructions,
                outcomes[0].result.warpInstructions);
    }
    EXPECT_EQ(outcomes[1].result.whySequential, "clusters that cancel others");
  }
}

/// Lanes that each ask get an answer each.
TEST(LaunchControl, EachThreadAsks) {
  std::string text = kernelText(
      ".param .u64 out", R"(
.reg .b128 %response;
ld.param.u64 %q0, [out];
mov.u32 %r10, %ctaid.x;
setp.eq.u32 %p1, %r0, 0;
mul.wide.u32 %q1, %r10, 4; add.u64 %q1, %q1, %q0;
@!%p1 bra READY;
red.global.add.u32 [%q1], 1;
mbarrier.init.shared::cta.b64 [%r2], 1;
fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 48;
READY:
bar.sync 0;
shl.b32 %r3, %r0, 4; add.u32 %r3, %r3, %r2; add.u32 %r3, %r3, 16;
)" + request + ".b128 [%r3], [%r2];\n" +
                             waitFor(0, "0", "CAME") +
                             R"(
ld.shared.b128 %response, [%r3];
)" + query + "is_canceled.pred.b128 %p2, %response;\n@!%p2 bra END;\n" +
                             query +
                             R"(get_first_ctaid::x.b32.b128 %r11, %response;
mul.wide.u32 %q1, %r11, 4; add.u64 %q1, %q1, %q0;
red.global.add.u32 [%q1], 1;
END:
bar.sync 0;
)");
  // Ten clusters in a launch: one takes three, those three do no more.
  Outcome eager = run(text, {10, 1, 1}, optionsOf(Policy::Eager), {}, 3);
  expectEachTileOnce(eager);
  for (const Options &options : schedules(6))
    expectEachTileOnce(run(text, {10, 1, 1}, options, {}, 3));
}

TEST(LaunchControl, TheManualsExampleIsClean) {
  std::string text = persistent();
  for (size_t at; (at = text.find("arrive.release.al")) != text.npos;)
    text.replace(at, 14, "arrive.relaxed");
  for (const Options &options : schedules(4))
    expectEachTileOnce(run(text, {16, 1, 1}, options, {2, 1, 1}));
  text.replace(text.find("fence.proxy.async.shared::cta;"), 30, "");
  Outcome outcome = run(text, {16, 1, 1}, optionsOf(Policy::Eager), {2, 1, 1});
  EXPECT_EQ(idsOf(outcome.result),
            std::set<std::string>{"missing-proxy-fence"});
}

/// As libcu++ has it: two halves of a fence, and a response read in two words.
TEST(LaunchControl, ResponsesMayComeInHalves) {
  const std::string whole = "ld.shared.b128 %response, [%r3];";
  Pieces pieces;
  pieces.expect =
      "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster."
      "cluster;\n" +
      pieces.expect;
  pieces.fence = "fence.proxy.async::generic.release.sync_restrict::shared::"
                 "cta.cluster;";
  std::string text = persistent(pieces);
  text.replace(text.find(whole), whole.size(),
               "ld.shared.v2.b64 {%q10, %q11}, [%r3];\n"
               "mov.b128 %response, {%q10, %q11};\n");
  for (const Options &options : schedules(3))
    expectEachTileOnce(run(text, {16, 1, 1}, options, {2, 1, 1}));
}

namespace {

void expectRaised(const std::string &id, const Pieces &pieces, Dim3 cluster,
                  Policy policy = Policy::Eager) {
  Outcome outcome =
      run(persistent(pieces), {8, 1, 1}, optionsOf(policy), cluster);
  EXPECT_TRUE(idsOf(outcome.result).count(id)) << id << ":\n"
                                               << textOf(outcome.result);
}

} // namespace

TEST(LaunchControl, ExistingChecksSeeItsMistakes) {
  for (Dim3 cluster : {Dim3{1, 1, 1}, Dim3{2, 1, 1}}) {
    Pieces sound;
    EXPECT_EQ(run(persistent(sound), {8, 1, 1}, {}, cluster).result.status,
              Status::Ok);
    Pieces pieces = sound;
    pieces.fence = "";
    expectRaised("missing-proxy-fence", pieces, cluster);
    pieces = sound;
    pieces.wait = "";
    expectRaised("race-shared", pieces, cluster);
    expectRaised("async-write-in-flight", pieces, cluster, Policy::Late);
    pieces = sound;
    pieces.expect = "mbarrier.arrive.shared::cta.b64 _, [%r2];";
    expectRaised("race-shared", pieces, cluster, Policy::Late);
    pieces = sound;
    pieces.expect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 32;";
    expectRaised("deadlock", pieces, cluster);
    pieces = sound;
    pieces.to = "%r3+8";
    expectRaised("misaligned", pieces, cluster);
    pieces = sound;
    pieces.to = "%r3+16777216";
    expectRaised("out-of-bounds", pieces, cluster);
    pieces = sound;
    pieces.wait = "ret;\n";
    expectRaised("smem-in-use-at-exit", pieces, cluster, Policy::Late);
    pieces = sound;
    pieces.work = "st.shared.u32 [%r3], 0;\n";
    expectRaised("race-shared", pieces, cluster);
    pieces = sound;
    pieces.expect = "st.shared.u32 [%r3], 0;\n" + pieces.expect;
    expectRaised("missing-proxy-fence", pieces, cluster);
  }
}

TEST(LaunchControl, ADeadlockNamesTheRequestThatWouldCome) {
  Pieces pieces;
  pieces.expect += waitFor(0, "%r8", "EARLY");
  // The arrivals of later turns come after this one.
  std::string text = persistent(pieces);
  text.replace(text.find("@%p2 bra NEXT;"), 14, "");
  Outcome outcome = run(text, {2, 1, 1}, optionsOf(Policy::Eager));
  ASSERT_TRUE(outcome.result.deadlock) << textOf(outcome.result);
  ASSERT_EQ(outcome.result.deadlock->objects.size(), 1u);
  EXPECT_EQ(outcome.result.deadlock->objects[0].couldComplete.size(), 1u);
}

/// Clusters that never start do not shift the names of those that do.
TEST(LaunchControl, FindingsNameClustersThatRan) {
  Pieces pieces;
  pieces.work = "setp.ge.u32 %p3, %r14, 2;\n@%p3 st.global.u32 [%q0], 1;\n";
  std::string text = persistent(pieces);
  text.replace(text.find("red.global"), 10, "@%p31 red.global");
  text.insert(text.find("NEXT:"), "setp.ne.u32 %p31, 0, 0;\n");
  Outcome outcome = run(text, {8, 1, 1}, optionsOf(Policy::Eager));
  ASSERT_EQ(outcome.result.findings.size(), 1u) << textOf(outcome.result);
  const Finding &finding = outcome.result.findings[0];
  EXPECT_EQ(finding.id, "race-global");
  ASSERT_TRUE(finding.otherParty);
  // Two that ran meet, of which the first that may is the third: the first
  // cancels the second.
  std::vector<uint32_t> ran = doers(outcome);
  auto hasRun = [&](const Party &party) {
    return std::ranges::count(ran, party.cta.x + 1) > 0;
  };
  EXPECT_EQ(finding.cta.x, 2u);
  EXPECT_GT(finding.otherParty->cta.x, 2u);
  EXPECT_TRUE(hasRun(finding) && hasRun(*finding.otherParty));
}
