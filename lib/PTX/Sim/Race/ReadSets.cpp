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
  for (const Stamp &s : at(from))
    if (sameBits(s, access.stamp) ||
        (s.when == access.stamp.when && s.lane == kManyLanes))
      return from;
  Set before = from ? at(from) : Set(&single, 1);
  std::vector<Stamp> &old = scratch;
  old.assign(before.begin(), before.end());
  for (Stamp &s : old) {
    if (!otherLane(s, access.stamp))
      continue;
    s.lane = kManyLanes;
    return intern();
  }
  std::erase_if(old, [&](const Stamp &s) { return supersedes(access, s); });
  auto isForeign = [&](const Stamp &s) {
    return clusterOf(s.when) != access.cluster;
  };
  size_t foreign = size_t(std::count_if(old.begin(), old.end(), isForeign));
  if (foreign > kForeign)
    old.erase(std::find_if(old.begin(), old.end(), isForeign));
  old.push_back(access.stamp);
  uint64_t result = old.size() == 1 ? 0 : intern();
  last = {from, result, single.when, access.stamp};
  return result;
}

static uint64_t hashOf(ReadSets::Set set) {
  uint64_t hash = 0x9E3779B97F4A7C15ull;
  for (const Stamp &stamp : set) {
    uint64_t words[2];
    std::memcpy(words, &stamp, sizeof words);
    hash = (hash ^ words[0]) * 0xD6E8FEB86659FD93ull;
    hash = (hash ^ words[1] ^ hash >> 32) * 0xD6E8FEB86659FD93ull;
  }
  return hash ^ hash >> 32;
}

ReadSets::Set ReadSets::store(Set set) {
  if (room.size() < set.size()) {
    size_t size =
        std::max(set.size(), size_t(64) << std::min<size_t>(blocks.size(), 10));
    blocks.push_back(std::make_unique<Stamp[]>(size));
    room = {blocks.back().get(), size};
  }
  std::copy(set.begin(), set.end(), room.begin());
  Set stored = room.first(set.size());
  room = room.subspan(set.size());
  return stored;
}

void ReadSets::growTable() {
  table.assign(std::max<size_t>(64, 4 * sets.size()), 0);
  for (uint64_t number = 1; number < sets.size(); ++number) {
    uint64_t place = sets[number].hash % table.size();
    while (table[place])
      place = (place + 1) % table.size();
    table[place] = number;
  }
}

uint64_t ReadSets::intern() {
  if (table.size() < 2 * sets.size())
    growTable();
  uint64_t hash = hashOf(scratch), place = hash % table.size();
  for (; table[place]; place = (place + 1) % table.size()) {
    const Stored &other = sets[table[place]];
    if (other.hash == hash &&
        std::equal(scratch.begin(), scratch.end(), other.stamps.begin(),
                   other.stamps.end(), sameBits))
      return table[place];
  }
  table[place] = sets.size();
  sets.push_back({store(scratch), hash});
  return table[place];
}
