//===- SwizzleTest.cpp - Swizzles against tables and rules ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TruthTable.h"

#include <random>

using namespace fmha::layout;

static constexpr Swizzle allModes[] = {Swizzle::None, Swizzle::Bytes32,
                                       Swizzle::Bytes64, Swizzle::Bytes128,
                                       Swizzle::Bytes128Atom32};

TEST(Swizzle, PermutesChunksAsTheTableSays) {
  static const std::map<std::string, Swizzle> names = {
      {"none", Swizzle::None},
      {"32B", Swizzle::Bytes32},
      {"64B", Swizzle::Bytes64},
      {"128B", Swizzle::Bytes128},
      {"128B_ATOM_32B", Swizzle::Bytes128Atom32}};
  unsigned seen = 0;
  for (const auto &mode : readTruth("swizzle.json", "modes")) {
    Swizzle which = names.at(mode["name"]);
    EXPECT_EQ(tensorMapCode(which), mode["CUtensorMapSwizzle"].get<unsigned>());
    EXPECT_EQ(patternBytes(which), mode["period_bytes"].get<unsigned>());
    auto chunks = mode["perm16"].get<std::vector<unsigned>>();
    for (unsigned chunk = 0; chunk < chunks.size(); ++chunk)
      for (unsigned byte = 0; byte < 16; ++byte)
        EXPECT_EQ(swizzle(which, chunk * 16 + byte), chunks[chunk] * 16 + byte);
    ++seen;
  }
  EXPECT_EQ(seen, 5u);
}

TEST(Swizzle, IsItsOwnInverseAndStaysInItsPattern) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (Swizzle mode : allModes)
    for (unsigned i = 0; i < 2000; ++i) {
      uint32_t address = random() % (1u << 18);
      uint32_t moved = swizzle(mode, address);
      EXPECT_EQ(swizzle(mode, moved), address);
      EXPECT_EQ(moved / patternBytes(mode), address / patternBytes(mode));
    }
}

TEST(Swizzle, ShortFormsAgreeWithTheGeneralOne) {
  for (uint32_t address = 0; address < 4096; ++address) {
    EXPECT_EQ(swizzle128(address), swizzle(Swizzle::Bytes128, address));
    EXPECT_EQ(swizzle64(address), swizzle(Swizzle::Bytes64, address));
    EXPECT_EQ(swizzle32(address), swizzle(Swizzle::Bytes32, address));
  }
}

TEST(Swizzle, SpreadsAColumnOverAllBanks) {
  // What it is for: 8 rows of one 16-byte column in 8 different bank groups.
  for (unsigned chunk = 0; chunk < 8; ++chunk) {
    unsigned groups = 0;
    for (unsigned row = 0; row < 8; ++row)
      groups |= 1u << (swizzle128(row * 128 + chunk * 16) % 128 / 16);
    EXPECT_EQ(groups, 0xFFu);
  }
}
