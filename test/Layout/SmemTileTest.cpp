//===- SmemTileTest.cpp - Tiles and descriptors against tables --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TruthTable.h"

#include <random>

using namespace fmha::layout;
using nlohmann::json;

static SmemTile tileOf(const json &entry) {
  AtomKind kind = atomKind(entry["atom"]);
  AtomOrder order = atomOrder(kind.major, entry["atom_order"]);
  return SmemTile::make(kind.major, kind.mode, entry["elem_bytes"],
                        entry["tile"][0], entry["tile"][1], order);
}

static std::vector<json> tcgen05Tiles() {
  std::vector<json> result;
  for (const json &entry : readTruth("smem_descriptors.json", "tiles"))
    if (entry["arch"] == "sm100")
      result.push_back(entry);
  EXPECT_EQ(result.size(), 57u) << "the table has changed";
  return result;
}

TEST(SmemTile, DescriptorsEqualTheTable) {
  for (const json &entry : tcgen05Tiles()) {
    uint64_t want = std::stoull(entry["desc"].get<std::string>(), nullptr, 16);
    uint64_t got = tileOf(entry).descriptorFields();
    // The table leaves LBO 0 where one atom spans M or N: the field is unused.
    if (entry["lbo"] == 0)
      got &= ~(uint64_t(0x3FFF) << 16);
    EXPECT_EQ(got, want) << std::hex << got << " for " << entry.dump();
  }
}

TEST(SmemTile, StepsEqualTheTable) {
  for (const json &entry : tcgen05Tiles()) {
    SmemTile tile = tileOf(entry);
    unsigned mn = entry["mma"][0], k = entry["mma"][1];
    EXPECT_EQ(tile.kPerStep(), k) << entry.dump();
    const json &increments = entry["inc16"];
    for (unsigned i = 0; i < increments.size(); ++i)
      for (unsigned j = 0; j < increments[i].size(); ++j)
        EXPECT_EQ(tile.mnOffset(i * mn) + tile.kStepOffset(j),
                  16 * increments[i][j].get<unsigned>())
            << "sub-tile " << i << ", K step " << j << " of " << entry.dump();
  }
}

TEST(SmemTile, EveryElementLiesWhereTheTableSays) {
  for (const json &entry : tcgen05Tiles()) {
    SmemTile tile = tileOf(entry);
    for (const json &sample : entry["sample"])
      EXPECT_EQ(tile.offset(sample[0], sample[1]), sample[2].get<unsigned>())
          << sample.dump() << " of " << entry.dump();
    uint32_t sum = 0;
    for (unsigned mn = 0; mn < tile.mn; ++mn)
      for (unsigned k = 0; k < tile.k; ++k)
        sum += (mn * tile.k + k + 1) * tile.offset(mn, k);
    EXPECT_EQ(sum, entry["checksum"].get<uint32_t>()) << entry.dump();
  }
}

TEST(SmemTile, AtomsEqualTheTable) {
  unsigned seen = 0;
  for (const json &atom : readTruth("smem_atoms.json", "atoms")) {
    AtomKind kind = atomKind(atom["atom"]);
    SmemTile tile = SmemTile::make(kind.major, kind.mode, atom["elem_bytes"],
                                   atom["mn"], atom["k"]);
    for (unsigned mn = 0; mn < tile.mn; ++mn)
      for (unsigned k = 0; k < tile.k; ++k)
        EXPECT_EQ(tile.offset(mn, k), atom["off"][mn][k].get<unsigned>())
            << atom["atom"] << " (" << mn << ", " << k << ")";
    ++seen;
  }
  EXPECT_EQ(seen, 27u);
}

TEST(SmemTile, DescriptorOfTheWorkedExamples) {
  EXPECT_EQ(smemDescriptor(0x400, 16, 1024, Swizzle::Bytes128),
            0x4000404000010040u);
  EXPECT_EQ(smemDescriptor(0x400, 8192, 1024, Swizzle::Bytes128),
            0x4000404002000040u);
  EXPECT_EQ(smemDescriptor(0x400, 2048, 128, Swizzle::None),
            0x0000400800800040u);
}

TEST(SmemTile, StartAddressIsOredIntoTheFields) {
  SmemTile tile = PanelTile{128, 128}.kMajor();
  for (uint32_t start : {0u, 1024u, 65536u, 231424u})
    EXPECT_EQ(tile.descriptor(start),
              tile.descriptorFields() | ((start >> 4) & 0x3FFF));
}

TEST(SmemTile, CheckAcceptsWhatTheTableHas) {
  for (const json &entry : tcgen05Tiles()) {
    // The hardware does not take the 32-byte atom for other types.
    if (entry["atom"] == "MN_SW128_32B" && entry["elem_bytes"] != 4)
      continue;
    EXPECT_EQ(tileOf(entry).check(), std::nullopt) << entry.dump();
  }
}

TEST(SmemTile, CheckNamesWhatIsWrong) {
  auto violation = [](SmemTile tile) { return tile.check().value_or("none"); };
  using enum Swizzle;
  EXPECT_EQ(violation(SmemTile::make(Major::K, Bytes128, 2, 128, 96)),
            "expected the bytes of a row (k times the element size) to be a "
            "positive multiple of 128, got 192");
  EXPECT_EQ(violation(SmemTile::make(Major::MN, Bytes128, 2, 32, 128)),
            "expected the bytes of a row (mn times the element size) to be a "
            "positive multiple of 128, got 64");
  EXPECT_EQ(violation(SmemTile::make(Major::K, Bytes128, 2, 100, 64)),
            "expected mn to be a positive multiple of 8, got 100");
  EXPECT_EQ(violation(SmemTile::make(Major::MN, Bytes128, 2, 64, 8)),
            "expected the bytes of K to be a positive multiple of 32, got 16");
  EXPECT_EQ(violation(SmemTile::make(Major::K, Bytes128, 3, 128, 64)),
            "expected elements of 1, 2 or 4 bytes, got 3");
  EXPECT_EQ(violation(SmemTile::make(Major::K, Bytes128Atom32, 4, 128, 64)),
            "the 128-byte swizzle of 32-byte atoms serves MN-major 32-bit "
            "operands only; take Bytes128");
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

TEST(PanelTile, IsReadBothWays) {
  for (PanelTile tile : {PanelTile{128, 64},
                         {128, 128},
                         {64, 128},
                         {8, 64},
                         {128, 80},
                         {32, 16}}) {
    SmemTile asRows = tile.kMajor(), asColumns = tile.mnMajor();
    for (unsigned row = 0; row < tile.rows; ++row)
      for (unsigned column = 0; column < tile.columns; ++column) {
        EXPECT_EQ(tile.offset(row, column), asRows.offset(row, column));
        EXPECT_EQ(tile.offset(row, column), asColumns.offset(column, row));
      }
  }
}

TEST(PanelTile, TheLastPanelIsWhole) {
  EXPECT_EQ((PanelTile{128, 80}).panels(), 2u);
  EXPECT_EQ((PanelTile{128, 80}).bytes(), 2 * 128 * 128u);
  EXPECT_EQ((PanelTile{32, 16}).bytes(), 32 * 128u);
  for (PanelTile tile : {PanelTile{128, 80}, {32, 16}}) {
    EXPECT_EQ(tile.kMajor().check(), std::nullopt);
    EXPECT_EQ(tile.mnMajor().check(), std::nullopt);
    EXPECT_EQ(tile.kMajor().bytes(), tile.bytes());
  }
}

TEST(PanelTile, EveryElementHasItsOwnPlace) {
  PanelTile tile{128, 128};
  std::vector<bool> taken(tile.bytes() / 2);
  for (unsigned row = 0; row < tile.rows; ++row)
    for (unsigned column = 0; column < tile.columns; ++column) {
      uint32_t at = tile.offset(row, column);
      ASSERT_LT(at, tile.bytes());
      EXPECT_FALSE(taken[at / 2]) << row << ", " << column;
      taken[at / 2] = true;
    }
}

TEST(PanelTile, ChunksOfARowFollowTheShortFormula) {
  PanelTile tile{128, 128};
  for (unsigned row = 0; row < tile.rows; ++row)
    for (unsigned chunk = 0; chunk < tile.columns / 8; ++chunk) {
      uint32_t at = PanelTile::chunkRowOffset(row) +
                    (tile.chunkConstant(chunk) ^ PanelTile::chunkXor(row));
      EXPECT_EQ(at, tile.chunkOffset(row, chunk));
      for (unsigned i = 0; i < 8; ++i)
        EXPECT_EQ(tile.offset(row, chunk * 8 + i), at + 2 * i);
    }
}

TEST(PanelTile, StepsOfTheTwoProducts) {
  // Q, K, P: four steps in a panel, then the next one. V: 16 keys are 2048
  // bytes.
  PanelTile tile{128, 128};
  std::vector<unsigned> kMajor, mnMajor;
  for (unsigned step = 0; step < 8; ++step) {
    kMajor.push_back(tile.kMajor().kStepOffset(step));
    mnMajor.push_back(tile.mnMajor().kStepOffset(step));
  }
  EXPECT_EQ(kMajor,
            (std::vector<unsigned>{0, 32, 64, 96, 16384, 16416, 16448, 16480}));
  EXPECT_EQ(mnMajor, (std::vector<unsigned>{0, 2048, 4096, 6144, 8192, 10240,
                                            12288, 14336}));
}
