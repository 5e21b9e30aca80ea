//===- SmemDescriptorTest.cpp - Operand addresses against evaluated layouts
//===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TruthData.h"

#include "fmha/PTX/Sim/Units/SmemDescriptor.h"
#include "fmha/PTX/Sim/Units/Swizzle.h"

#include <gtest/gtest.h>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

uint64_t hexOf(const nlohmann::json &text) {
  return std::stoull(text.get<std::string>(), nullptr, 16);
}

/// Byte address of (mn, k) of a whole tile, through the descriptor of the
/// instruction that reads the element.
uint32_t tileAddress(const nlohmann::json &tile, uint32_t mn, uint32_t k) {
  uint32_t mmaMn = tile["mma"][0], mmaK = tile["mma"][1];
  uint64_t raw =
      hexOf(tile["desc"]) + tile["inc16"][mn / mmaMn][k / mmaK].get<uint64_t>();
  auto arch =
      tile["arch"] == "sm100" ? DescriptorArch::Tcgen05 : DescriptorArch::Wgmma;
  DecodedDescriptor decoded = decodeSmemDescriptor(raw, arch);
  Major major = tile["major"] == "K" ? Major::K : Major::MN;
  return decoded.descriptor.address(major, tile["elem_bytes"], mn % mmaMn,
                                    k % mmaK);
}

TEST(SmemDescriptor, ReadsEveryTileOfTheLibrary) {
  nlohmann::json data = readJson("smem_descriptors.json");
  for (const nlohmann::json &tile : data["tiles"]) {
    auto arch = tile["arch"] == "sm100" ? DescriptorArch::Tcgen05
                                        : DescriptorArch::Wgmma;
    DecodedDescriptor decoded = decodeSmemDescriptor(hexOf(tile["desc"]), arch);
    std::string where =
        tile["atom"].get<std::string>() + " " + tile["tile"].dump();
    EXPECT_FALSE(decoded.error) << where << ": " << *decoded.error;
    EXPECT_EQ(decoded.descriptor.leadingOffset, tile["lbo"].get<uint32_t>());
    EXPECT_EQ(decoded.descriptor.strideOffset, tile["sbo"].get<uint32_t>());
    uint32_t checksum = 0, rows = tile["tile"][0], columns = tile["tile"][1];
    for (uint32_t mn = 0; mn < rows; ++mn)
      for (uint32_t k = 0; k < columns; ++k)
        checksum += (mn * columns + k + 1) * tileAddress(tile, mn, k);
    EXPECT_EQ(checksum, tile["checksum"].get<uint32_t>()) << where;
    for (const nlohmann::json &sample : tile["sample"])
      EXPECT_EQ(tileAddress(tile, sample[0], sample[1]),
                sample[2].get<uint32_t>())
          << where << " " << sample.dump();
  }
  EXPECT_EQ(data["tiles"].size(), 78u);
}

TEST(SmemDescriptor, AtomsAreTheCanonicalOnes) {
  static const std::map<std::string, SmemSwizzle> swizzles = {
      {"INTER", SmemSwizzle::None},
      {"SW32", SmemSwizzle::B32},
      {"SW64", SmemSwizzle::B64},
      {"SW128", SmemSwizzle::B128},
      {"SW128_32B", SmemSwizzle::B128Atom32}};
  nlohmann::json data = readJson("smem_atoms.json");
  unsigned elements = 0;
  for (const nlohmann::json &atom : data["atoms"]) {
    std::string name = atom["atom"];
    Major major = name[0] == 'K' ? Major::K : Major::MN;
    SmemDescriptor descriptor;
    descriptor.swizzle = swizzles.at(name.substr(name.find('_') + 1));
    for (uint32_t mn = 0; mn < atom["mn"].get<uint32_t>(); ++mn)
      for (uint32_t k = 0; k < atom["k"].get<uint32_t>(); ++k, ++elements)
        EXPECT_EQ(descriptor.address(major, atom["elem_bytes"], mn, k),
                  atom["off"][mn][k].get<uint32_t>())
            << name << " " << mn << " " << k;
  }
  EXPECT_GT(elements, 5000u);
}

TEST(SmemDescriptor, RefusesIllegalFields) {
  constexpr uint64_t good = 0x4000404000010040;
  EXPECT_FALSE(decodeSmemDescriptor(good, DescriptorArch::Tcgen05).error);
  EXPECT_TRUE(decodeSmemDescriptor(good, DescriptorArch::Wgmma).error);
  for (unsigned bit :
       {14u, 15u, 30u, 31u, 46u, 47u, 48u, 49u, 50u, 51u, 52u, 53u, 60u, 61u})
    EXPECT_TRUE(decodeSmemDescriptor(good ^ (uint64_t(1) << bit),
                                     DescriptorArch::Tcgen05)
                    .error)
        << "bit " << bit;
  SmemDescriptor atom32;
  atom32.swizzle = SmemSwizzle::B128Atom32;
  EXPECT_TRUE(checkOperandSwizzle(atom32, Major::MN, 2));
  EXPECT_FALSE(checkOperandSwizzle(atom32, Major::MN, 4));
  EXPECT_TRUE(checkOperandSwizzle(SmemDescriptor{}, Major::MN, 4));
}

TEST(Swizzle, PermutesChunksAsTabulated) {
  static const std::map<std::string, MapSwizzle> modes = {
      {"none", MapSwizzle::None},
      {"32B", MapSwizzle::B32},
      {"64B", MapSwizzle::B64},
      {"128B", MapSwizzle::B128}};
  nlohmann::json data = readJson("swizzle.json");
  unsigned checked = 0;
  for (const nlohmann::json &mode : data["modes"]) {
    auto swizzle = MapSwizzle(mode["CUtensorMapSwizzle"].get<unsigned>());
    if (auto known = modes.find(mode["name"]); known != modes.end())
      EXPECT_EQ(swizzle, known->second);
    for (uint32_t chunk = 0; chunk < 64; ++chunk)
      EXPECT_EQ(swizzleAddress(swizzle, chunk * 16),
                16 * mode["perm16"][chunk].get<uint32_t>())
          << mode["name"] << " chunk " << chunk;
    EXPECT_EQ(xorOf(swizzle).period(), mode["period_bytes"].get<uint32_t>());
    ++checked;
  }
  EXPECT_EQ(checked, 5u);
}

TEST(Swizzle, IsItsOwnInverse) {
  for (unsigned mode = 0; mode <= 6; ++mode)
    for (uint32_t address = 0; address < 4096; ++address) {
      uint32_t once = swizzleAddress(MapSwizzle(mode), address);
      EXPECT_EQ(swizzleAddress(MapSwizzle(mode), once), address);
    }
}

} // namespace
