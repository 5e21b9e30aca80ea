//===- LitmusTableTest.cpp - Litmus shapes by scope and proxy -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of results/ptx-litmus.md. Each is a kernel; what is expected of
// it follows from the PTX memory model alone. FMHA_WRITE_LITMUS=1 in the
// environment writes the page, otherwise it is held against the rows.
//
//===----------------------------------------------------------------------===//

#include "RaceKernel.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

enum class Model { Forbidden, Allowed, Race };

struct Row {
  std::string shape, scope, first, second, question;
  Model model = Model::Forbidden;
  /// The finding, where the model calls it a race.
  std::string finding;
  RaceKernel kernel;
  /// What the words from 256 of the buffer hold if the outcome in question came
  /// about.
  std::vector<uint32_t> outcome = {};
};

/// Where the threads of a shape are: in one CTA, in one cluster, in the grid.
struct Place {
  std::string name;
  unsigned ctas, cluster;
};
const Place kPlaces[] = {{"cta", 1, 1}, {"cluster", 2, 2}, {"gpu", 2, 1}};

/// One text for each thread: lane 0 of warp i, or of CTA i.
std::string threads(const Place &place, const std::vector<std::string> &texts) {
  std::string role = place.ctas == 1 ? "%r1" : "%r7", body = "@%p1 bra D;\n";
  for (size_t i = 0; i < texts.size(); ++i) {
    std::string label = "T" + std::to_string(i);
    body += "setp.ne.u32 %p3, " + role + ", " + std::to_string(i) +
            ";\n@%p3 bra " + label + ";\n" + texts[i] + label + ":\n";
  }
  return body + "D:\n";
}

RaceKernel at(const Place &place, const std::vector<std::string> &texts) {
  unsigned count = unsigned(texts.size());
  RaceKernel kernel{threads(place, texts)};
  kernel.threads = place.ctas == 1 ? 32 * count : 32;
  kernel.ctas = place.ctas == 1 ? 1 : count;
  kernel.cluster = place.cluster == 1 ? 1 : count;
  return kernel;
}

std::string st(const std::string &order, int word, int value = 1) {
  return "st" + order + ".global.b32 [%q0+" + std::to_string(128 * word) +
         "], " + std::to_string(value) + ";\n";
}
std::string ld(const std::string &order, int word, const char *to) {
  return "ld" + order + ".global.b32 " + to + ", [%q0+" +
         std::to_string(128 * word) + "];\n";
}
std::string keep(int slot, const char *from) {
  return "st.global.b32 [%q0+" + std::to_string(2048 + 128 * slot) + "], " +
         from + ";\n";
}
std::string spin(const std::string &order, int word) {
  static int count = 0;
  std::string label = "SPIN" + std::to_string(count++);
  return label + ":\n" + ld(order, word, "%r5") +
         "setp.eq.u32 %p4, %r5, 0;\n@%p4 bra " + label + ";\n";
}

void messagePassing(std::vector<Row> &rows) {
  for (const Place &place : kPlaces)
    for (const Place &given : kPlaces) {
      bool wide = &given >= &place;
      Row row{"MP", place.name, "x = 1; st.release." + given.name + " f",
              "ld.acquire." + given.name + " f; r = x", "f = 1, r = 0"};
      row.kernel = at(place, {st("", 0) + st(".release." + given.name, 1),
                              spin(".acquire." + given.name, 1) +
                                  ld("", 0, "%r6") + keep(0, "%r6")});
      row.model = wide ? Model::Forbidden : Model::Race;
      row.finding = "race-global";
      row.outcome = {0};
      rows.push_back(row);
    }
  for (const Place &place : kPlaces) {
    Row row{"MP",
            place.name,
            "x = 1; st.relaxed f",
            "ld.relaxed f; r = x",
            "f = 1, r = 0",
            Model::Race,
            "race-global"};
    std::string relaxed = ".relaxed." + place.name;
    row.kernel =
        at(place, {st("", 0) + st(relaxed, 1),
                   spin(relaxed, 1) + ld("", 0, "%r6") + keep(0, "%r6")});
    rows.push_back(row);
    std::string fence = "fence.acq_rel." + place.name + ";\n";
    row.first = "x = 1; fence.acq_rel; st.relaxed f";
    row.second = "ld.relaxed f; fence.acq_rel; r = x";
    row.model = Model::Forbidden;
    row.kernel = at(
        place, {st("", 0) + fence + st(relaxed, 1),
                spin(relaxed, 1) + fence + ld("", 0, "%r6") + keep(0, "%r6")});
    row.outcome = {0};
    rows.push_back(row);
  }
}

void storeBuffering(std::vector<Row> &rows) {
  for (const Place &place : kPlaces)
    for (std::string order :
         {std::string(), ".relaxed." + place.name, std::string("sc")}) {
      bool sc = order == "sc";
      std::string by = sc ? ".relaxed." + place.name : order;
      std::string fence = sc ? "fence.sc." + place.name + ";\n" : "";
      std::string between = sc ? "; fence.sc" : "";
      Row row{"SB", place.name, "x" + by + " = 1" + between + "; r = y",
              "y" + by + " = 1" + between + "; s = x", "r = 0, s = 0"};
      row.kernel =
          at(place, {st(by, 0) + fence + ld(by, 1, "%r5") + keep(0, "%r5"),
                     st(by, 1) + fence + ld(by, 0, "%r5") + keep(1, "%r5")});
      row.model = sc              ? Model::Forbidden
                  : order.empty() ? Model::Race
                                  : Model::Allowed;
      row.finding = "race-global";
      row.outcome = {0, 0};
      rows.push_back(row);
    }
}

void independentReads(std::vector<Row> &rows) {
  for (const Place &place : kPlaces)
    for (bool sc : {false, true}) {
      std::string by = ".relaxed." + place.name;
      std::string fence = sc ? "fence.sc." + place.name + ";\n" : "";
      std::string between = sc ? "; fence.sc; " : "; ";
      Row row{"IRIW", place.name, "x" + by + " = 1 | y" + by + " = 1",
              "r = x" + between + "s = y | t = y" + between + "u = x",
              "r = 1, s = 0, t = 1, u = 0"};
      auto reader = [&](int a, int b, int slot) {
        return ld(by, a, "%r5") + fence + ld(by, b, "%r6") + keep(slot, "%r5") +
               keep(slot + 1, "%r6");
      };
      row.kernel =
          at(place, {st(by, 0), st(by, 1), reader(0, 1, 0), reader(1, 0, 2)});
      row.model = sc ? Model::Forbidden : Model::Allowed;
      row.outcome = {1, 0, 1, 0};
      rows.push_back(row);
    }
}

void coherence(std::vector<Row> &rows) {
  for (const Place &place : kPlaces)
    for (const Place &given : kPlaces) {
      std::string by = ".relaxed." + given.name;
      Row row{"CoRR", place.name, "x" + by + " = 1",
              "r = x" + by + "; s = x" + by, "r = 1, s = 0"};
      row.kernel = at(place, {st(by, 0), ld(by, 0, "%r5") + ld(by, 0, "%r6") +
                                             keep(0, "%r5") + keep(1, "%r6")});
      row.model = &given >= &place ? Model::Forbidden : Model::Race;
      row.finding = "race-global";
      row.outcome = {1, 0};
      rows.push_back(row);
    }
}

// --- proxies: the writer is thread 0, the reader lane 0 of warp 1 ---

const std::string kBar = "bar.sync 0;\n";
const std::string kFence = "fence.proxy.async.shared::cta;\n";
const std::string kInit = "@%p0 bra READY;\nmbarrier.init.shared::cta.b64 "
                          "[%r2], 1;\nfence.mbarrier_init.release.cluster;\n"
                          "st.global.b64 [%q0], 7;\nst.global.b64 [%q0+8], 7;\n"
                          "fence.proxy.async.global;\nREADY:\nbar.sync 0;\n";
const std::string kPut = "st.shared.v4.b32 [%r3], {7, 7, 7, 7};\n";
const std::string kStore =
    "add.u64 %q3, %q0, 2048;\ncp.async.bulk.global.shared::cta.bulk_group "
    "[%q3], [%r3], 16;\ncp.async.bulk.commit_group;\n"
    "cp.async.bulk.wait_group 0;\n";
const std::string kLoad =
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;\n"
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r3], "
    "[%q0], 16, [%r2];\n";

Row proxyRow(const std::string &first, const std::string &second,
             const std::string &question, const std::string &finding,
             const std::string &body, std::vector<uint32_t> outcome) {
  Row row{"proxy", "cta", first, second, question};
  row.model = finding.empty() ? Model::Forbidden : Model::Race;
  row.finding = finding;
  row.kernel.body = kInit + body;
  row.outcome = std::move(outcome);
  return row;
}

void genericToAsync(std::vector<Row> &rows) {
  auto add = [&](const std::string &first, const std::string &second,
                 const std::string &finding, const std::string &writer,
                 const std::string &issuer) {
    rows.push_back(proxyRow(first, second, "the store reads the old x", finding,
                            warpText(0, kPut + writer, true) + kBar +
                                warpText(1, issuer + kStore, true),
                            {0}));
  };
  add("st x; bar", "bar; bulk store of x", "missing-proxy-fence", "", "");
  add("st x; fence.proxy.async; bar", "bar; bulk store of x", "", kFence, "");
  add("st x; bar", "bar; fence.proxy.async; bulk store of x", "", "", kFence);
  rows.push_back(proxyRow(
      "fence.proxy.async; st x; bar", "bar; bulk store of x",
      "the store reads the old x", "missing-proxy-fence",
      warpText(0, kFence + kPut, true) + kBar + warpText(1, kStore, true),
      {0}));
  rows.push_back(
      proxyRow("st x; fence.proxy.async", "bulk store of x",
               "the store reads the old x", "race-shared",
               warpText(0, kPut + kFence, true) +
                   warpText(1, "st.shared.b32 [%r3+64], 0;\n" + kStore, true),
               {0}));
}

void asyncToOthers(std::vector<Row> &rows) {
  std::string wait = waitFor(0, "0", "LW");
  std::string get = "ld.shared.b32 %r6, [%r3];\n" + keep(0, "%r6");
  auto add = [&](const std::string &second, const std::string &question,
                 const std::string &finding, const std::string &reader,
                 uint32_t wrong = 0) {
    rows.push_back(
        proxyRow("bulk load of x, complete_tx on b", second, question, finding,
                 warpText(0, kLoad, true) + warpText(1, reader, true) +
                     waitFor(0, "0", "LE"),
                 {wrong}));
  };
  const std::string put = "st.shared.b32 [%r3], 9;\n";
  add("r = x", "r is old", "race-shared", get);
  add("wait b; r = x", "r is old", "", wait + get);
  add("wait b; bulk store of x", "the store reads the old x", "",
      wait + kStore);
  add("wait.relaxed b; r = x", "r is old", "race-shared",
      "RX:\nmbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p31, [%r2], "
      "0;\n@!%p31 bra RX;\n" +
          get);
  add("x = 9; r = x", "r is what was loaded", "race-shared", put + get, 7);
  add("wait b; x = 9; r = x", "r is what was loaded", "", wait + put + get, 7);
}

std::vector<Row> table() {
  std::vector<Row> rows;
  messagePassing(rows);
  storeBuffering(rows);
  independentReads(rows);
  coherence(rows);
  genericToAsync(rows);
  asyncToOthers(rows);
  return rows;
}

std::vector<uint32_t> kept(const std::vector<std::byte> &buffer, size_t count) {
  std::vector<uint32_t> words(count);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(&words[i], &buffer[2048 + 128 * i], 4);
  return words;
}

TEST(LitmusTable, EveryRowIsJudgedAsTheModelDoes) {
  for (const Row &row : table()) {
    SCOPED_TRACE(row.shape + " " + row.scope + ": " + row.first + " || " +
                 row.second);
    forSchedules([&](Policy policy, uint64_t seed) {
      std::vector<std::byte> buffer(4096);
      LaunchResult result = runRace(row.kernel, policy, seed, &buffer);
      if (row.model == Model::Race) {
        EXPECT_TRUE(idsOf(result).count(row.finding)) << textOf(result);
        return;
      }
      EXPECT_EQ(result.status, Status::Ok) << textOf(result);
      // What the simulator runs is sequentially consistent, so that it shows
      // no outcome of this kind, allowed or not.
      if (!row.outcome.empty())
        EXPECT_NE(kept(buffer, row.outcome.size()), row.outcome);
    });
  }
}

std::string pageOf(const std::vector<Row> &rows) {
  std::ostringstream page;
  page
      << "<!-- Written by LitmusTableTest with FMHA_WRITE_LITMUS=1. -->\n"
         "# Litmus table\n\n"
         "Small programs and what the PTX memory model says of them. Variables "
         "are 0 at first. \"Scope\" is where the\nthreads are: in one CTA, in "
         "one cluster, in two clusters. Each row is a kernel of\n"
         "`test/PTX/Sim/Race/LitmusTableTest.cpp`, which runs it under six "
         "schedules and expects the finding in each, or none.\n\n"
         "- *forbidden*: no execution has the outcome; the simulator shows it "
         "never and reports nothing.\n"
         "- *allowed*: an execution may have it and nothing is a race. The "
         "simulator reports nothing. It executes memory\n  operations in some "
         "order one after another, so that it does not show such outcomes "
         "either.\n"
         "- *race*: the model promises nothing; the simulator reports the "
         "finding whatever the values are.\n\n"
         "| Shape | Scope | One thread | Another | Outcome in question | PTX | "
         "Finding |\n|---|---|---|---|---|---|---|\n";
  static constexpr const char *kModels[] = {"forbidden", "allowed", "race"};
  for (const Row &row : rows) {
    auto cell = [](std::string text) {
      for (size_t at = 0; (at = text.find('|', at)) != std::string::npos;
           at += 2)
        text.insert(at, "\\");
      return text;
    };
    bool races = row.model == Model::Race;
    page << "| " << row.shape << " | " << row.scope << " | " << cell(row.first)
         << " | " << cell(row.second) << " | " << row.question << " | "
         << kModels[unsigned(row.model)] << " | "
         << (races ? "`" + row.finding + "`" : "") << " |\n";
  }
  return page.str();
}

TEST(LitmusTable, ThePageIsUpToDate) {
  const std::string path = LITMUS_PAGE, expected = pageOf(table());
  if (std::getenv("FMHA_WRITE_LITMUS"))
    std::ofstream(path) << expected;
  std::ifstream file(path);
  std::stringstream got;
  got << file.rdbuf();
  EXPECT_EQ(got.str(), expected)
      << "run with FMHA_WRITE_LITMUS=1 to write " << path;
}

} // namespace
