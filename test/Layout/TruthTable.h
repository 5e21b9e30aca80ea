//===- TruthTable.h - Tables that layouts are held against ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_LAYOUT_TRUTHTABLE_H
#define FMHA_TEST_LAYOUT_TRUTHTABLE_H

#include "fmha/Layout/SmemTile.h"

#include "gtest/gtest.h"
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace fmha::layout {

/// The array `array` of test/data/truth/<name>; an empty one, and a failed
/// test, if it cannot be read.
inline std::vector<nlohmann::json> readTruth(const std::string &name,
                                             const std::string &array) {
  std::ifstream file(std::string(FMHA_TEST_DATA) + "/truth/" + name);
  EXPECT_TRUE(file) << "cannot open truth table " << name;
  if (!file)
    return {};
  return nlohmann::json::parse(file).at(array);
}

struct AtomKind {
  Major major;
  Swizzle mode;
};
/// "K_SW128", "MN_INTER", ... as the tables spell them.
inline AtomKind atomKind(const std::string &name) {
  static const std::map<std::string, Swizzle> modes = {
      {"INTER", Swizzle::None},
      {"SW32", Swizzle::Bytes32},
      {"SW64", Swizzle::Bytes64},
      {"SW128", Swizzle::Bytes128},
      {"SW128_32B", Swizzle::Bytes128Atom32}};
  size_t underscore = name.find('_');
  return {name.substr(0, underscore) == "K" ? Major::K : Major::MN,
          modes.at(name.substr(underscore + 1))};
}

/// "mn-first" and "k-first" name the direction in which atoms follow each
/// other.
inline AtomOrder atomOrder(Major major, const std::string &first) {
  bool across = (major == Major::K) == (first == "mn-first");
  return across ? AtomOrder::Across : AtomOrder::Along;
}

} // namespace fmha::layout

#endif // FMHA_TEST_LAYOUT_TRUTHTABLE_H
