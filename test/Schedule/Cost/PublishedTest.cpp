//===- PublishedTest.cpp - The model against published figures --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/data/published lists kernels, figures and pairs of them, each with its
// citation. The model must order every pair, with no constant fitted to any.
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Cost/Estimate.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

using namespace fmha::schedule;

namespace {

using Row = std::vector<std::string>;

/// Rows of fields between semicolons; '#' begins a comment line.
std::vector<Row> readRows(const std::string &name, size_t fields) {
  std::ifstream file(std::string(FMHA_TEST_DATA "/published/") + name);
  EXPECT_TRUE(file) << name;
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    Row row;
    std::istringstream text(line + ";");
    for (std::string field; std::getline(text, field, ';');)
      row.push_back(field);
    EXPECT_EQ(row.size(), fields) << name << ": " << line;
    if (row.size() == fields)
      rows.push_back(std::move(row));
  }
  return rows;
}

unsigned toUnsigned(const std::string &text) {
  return unsigned(std::stoul(text));
}

PPlacement toPlacement(const std::string &text) {
  for (PPlacement p :
       {PPlacement::Tmem, PPlacement::Smem, PPlacement::Registers})
    if (text == stringify(p))
      return p;
  ADD_FAILURE() << "no placement: " << text;
  return PPlacement::Auto;
}

KernelModel toKernel(const Row &row) {
  KernelModel kernel;
  kernel.target = row[1];
  kernel.tiles = toUnsigned(row[2]);
  kernel.tileRows = toUnsigned(row[3]);
  kernel.keys = toUnsigned(row[4]);
  kernel.ctaGroup = toUnsigned(row[5]);
  kernel.pPlacement = toPlacement(row[6]);
  kernel.pSlices = toUnsigned(row[7]);
  kernel.scoreStages = toUnsigned(row[8]);
  kernel.emulated = std::stod(row[9]);
  kernel.rescaleThreshold = std::stod(row[10]);
  kernel.elementBytes = toUnsigned(row[11]);
  kernel.scaleBlock = toUnsigned(row[12]);
  kernel.shareKv = row[13] == "1";
  kernel.persistent = row[14] == "1";
  return kernel;
}

struct Figure {
  std::string id, kernelName, source;
  KernelModel kernel;
  Workload workload;
  double published = 0;

  double modeled() const { return estimate(kernel, workload).teraflops; }
};

struct Published {
  std::map<std::string, Figure> figures;
  std::vector<Row> pairs;

  Published() : pairs(readRows("pairs.csv", 3)) {
    std::map<std::string, KernelModel> kernels;
    for (const Row &row : readRows("kernels.csv", 16)) {
      EXPECT_FALSE(row[15].empty()) << row[0] << " has no source";
      EXPECT_TRUE(kernels.emplace(row[0], toKernel(row)).second) << row[0];
    }
    for (const Row &row : readRows("figures.csv", 11))
      addFigure(row, kernels);
  }

private:
  void addFigure(const Row &row,
                 const std::map<std::string, KernelModel> &kernels) {
    ASSERT_TRUE(kernels.count(row[1])) << row[1];
    Figure figure{row[0], row[1], row[10], kernels.at(row[1]), {}, 0};
    figure.kernel.headDim = toUnsigned(row[2]);
    figure.kernel.headDimV = toUnsigned(row[3]);
    uint64_t length = std::stoull(row[8]);
    figure.workload = {std::stoull(row[5]),
                       std::stoull(row[6]),
                       std::stoull(row[7]),
                       length,
                       length,
                       row[4] == "causal" ? Mask::Causal : Mask::None};
    figure.published = std::stod(row[9]);
    EXPECT_TRUE(figures.emplace(row[0], figure).second) << row[0];
  }
};

const Published &published() {
  static const Published all;
  return all;
}

/// Whether two figures differ in one thing only.
bool comparable(const Figure &a, const Figure &b) {
  auto dims = [](const Figure &f) {
    return std::pair(f.kernel.headDim, f.kernel.headDimV);
  };
  auto heads = [](const Figure &f) {
    return std::pair(f.workload.qHeads, f.workload.kvHeads);
  };
  if (dims(a) != dims(b) || heads(a) != heads(b))
    return false;
  bool kernel = a.kernelName == b.kernelName;
  bool mask = a.workload.mask == b.workload.mask;
  bool length = a.workload.qLen == b.workload.qLen;
  bool batch = a.workload.batch == b.workload.batch;
  return (length && batch && (mask || kernel)) || (kernel && mask && !length);
}

} // namespace

TEST(Published, EveryFigureIsCited) {
  for (const auto &[id, figure] : published().figures)
    EXPECT_FALSE(figure.source.empty()) << id;
  EXPECT_GE(published().figures.size(), 70u);
}

TEST(Published, PairsDifferByMoreThanFivePercent) {
  for (const Row &pair : published().pairs) {
    ASSERT_TRUE(published().figures.count(pair[0])) << pair[0];
    ASSERT_TRUE(published().figures.count(pair[1])) << pair[1];
    EXPECT_GT(published().figures.at(pair[0]).published,
              1.05 * published().figures.at(pair[1]).published)
        << pair[0] << " " << pair[1];
  }
}

TEST(Published, NoComparablePairIsLeftOut) {
  std::set<std::pair<std::string, std::string>> listed;
  for (const Row &pair : published().pairs)
    listed.insert({pair[0], pair[1]});
  for (const auto &[x, a] : published().figures)
    for (const auto &[y, b] : published().figures)
      if (a.published > 1.05 * b.published && comparable(a, b)) {
        EXPECT_TRUE(listed.count({x, y})) << x << ";" << y << ";";
      }
}

/// The acceptance of the cost model. A pair with a reason why the model cannot
/// tell must be one that it indeed gets wrong.
TEST(Published, TheModelOrdersEveryPair) {
  unsigned ordered = 0, outside = 0;
  for (const auto &pair : published().pairs) {
    const Figure &fast = published().figures.at(pair[0]);
    const Figure &slow = published().figures.at(pair[1]);
    double a = fast.modeled(), b = slow.modeled();
    std::ostringstream text;
    text << pair[0] << " published " << fast.published << " modeled " << a
         << ", " << pair[1] << " published " << slow.published << " modeled "
         << b;
    if (pair[2].empty())
      EXPECT_GT(a, b) << text.str();
    else
      EXPECT_LE(a, b) << "no longer outside the model: " << text.str();
    ++(pair[2].empty() ? ordered : outside);
  }
  EXPECT_GE(ordered, 140u);
  EXPECT_LE(outside, 10u);
  RecordProperty("ordered", int(ordered));
  RecordProperty("outside", int(outside));
}
