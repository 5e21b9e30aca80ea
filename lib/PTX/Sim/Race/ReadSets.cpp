//===- ReadSets.cpp - Sets of unordered reads -----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Supersedes.h"

#include <algorithm>
#include <cstring>

using namespace ptxsim::race;

static bool sameBits(const Stamp &a, const Stamp &b) {
  return std::memcmp(&a, &b, sizeof(Stamp)) == 0;
}

uint64_t ReadSets::add(uint64_t from, const Stamp &single,
                       const Access &access) {
  if (from == last.from && single.when == last.single &&
      sameBits(last.read, access.stamp))
    return last.result;
  for (const Stamp &s : sets[from])
    if (sameBits(s, access.stamp) ||
        (s.when == access.stamp.when && s.lane == kManyLanes))
      return from;
  Set old = from ? sets[from] : Set{single};
  for (Stamp &s : old) {
    if (!otherLane(s, access.stamp))
      continue;
    s.lane = kManyLanes;
    return intern(std::move(old));
  }
  std::erase_if(old, [&](const Stamp &s) { return supersedes(access, s); });
  auto isForeign = [&](const Stamp &s) {
    return clusterOf(s.when) != access.cluster;
  };
  size_t foreign = size_t(std::count_if(old.begin(), old.end(), isForeign));
  if (foreign > kForeign)
    old.erase(std::find_if(old.begin(), old.end(), isForeign));
  old.push_back(access.stamp);
  uint64_t result = old.size() == 1 ? 0 : intern(std::move(old));
  last = {from, result, single.when, access.stamp};
  return result;
}

uint64_t ReadSets::intern(Set set) {
  uint64_t hash = 0x9E3779B97F4A7C15ull;
  for (const Stamp &stamp : set) {
    uint64_t words[2];
    std::memcpy(words, &stamp, sizeof words);
    hash = (hash ^ words[0]) * 0xD6E8FEB86659FD93ull;
    hash = (hash ^ words[1] ^ hash >> 32) * 0xD6E8FEB86659FD93ull;
  }
  std::vector<uint64_t> &same = byHash[hash];
  for (uint64_t number : same)
    if (std::equal(set.begin(), set.end(), sets[number].begin(),
                   sets[number].end(), sameBits))
      return number;
  same.push_back(sets.size());
  sets.push_back(std::move(set));
  return sets.size() - 1;
}
