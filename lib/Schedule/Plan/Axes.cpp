//===- Axes.cpp - The levels of the tree of candidates ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Axes.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

using namespace fmha::schedule;

Values fmha::schedule::parts(unsigned whole, unsigned least, unsigned most) {
  Values values = {0};
  for (unsigned part = most; part >= least; part /= 2)
    if (part < whole)
      values.push_back(part);
  return values;
}

void Axes::add(std::string_view name, Values values, Rules decides) {
  const ScheduleField &field =
      *std::ranges::find(scheduleFields(), name, &ScheduleField::name);
  if (std::optional<unsigned> wanted = overrides[field.choice])
    values = {*wanted};
  levels.push_back({std::move(values), decides, field.set});
}

Values Axes::packings() const {
  constexpr unsigned most = 128, fullTile = 64;
  // A tile has the keys of one query.
  if (problem.topk)
    return {most};
  if (problem.kvIndices)
    return {1};
  unsigned group = groupHint(problem),
           all = std::min(std::bit_ceil(group), most);
  // All rows that see a new key are in one CTA (plan.C8).
  if (problem.keyNew)
    return {std::max(all, 1u)};
  if (overrides[Choice::PackHeads] == Overrides::wholeGroup)
    return {all};
  if (group <= 1 || !problem.qLenHint)
    return {1};
  // A tile takes as long with all heads of the group as with one. So packed
  // tiles are no slower if there are no more of them: if all rows fit one tile,
  // or the group divides a tile that one head does not fill.
  bool divides = std::has_single_bit(group) && problem.qLenHint < fullTile;
  if (!overrides[Choice::PackHeads] &&
      (divides || problem.qLenHint <= most / all))
    return {all};
  unsigned exact = group & (0 - group);
  if (exact >= fullTile)
    return {1, std::min(exact, most)};
  Values values = {1, all};
  if (exact > 1 && exact < all)
    values.push_back(exact);
  return values;
}

void Axes::addPacking() {
  if (overrides[Choice::PackHeads].value_or(Overrides::wholeGroup) ==
      Overrides::wholeGroup)
    levels.push_back({packings(), 0, [](Schedule &s, unsigned heads) {
                        s.packHeads = std::min(heads, s.qTileRows);
                      }});
  lastOfTiles = levels.size() - 1;
}

void Axes::addTiles(Values tiles, unsigned rows, Rules decides) {
  unsigned listed = problem.blockRows;
  Values whole;
  std::ranges::copy_if(tiles, std::back_inserter(whole), [&](unsigned count) {
    return listed % (count * rows) == 0;
  });
  add("q_tiles", listed && !whole.empty() ? whole : tiles, decides);
}

void Axes::addBlocks(Values blocks, Rules decides) {
  if (problem.blockKeys)
    std::erase_if(blocks,
                  [&](unsigned keys) { return problem.blockKeys % keys != 0; });
  // None divides block_keys: plan.C3 reports that of the usual block.
  if (blocks.empty())
    blocks = {64};
  add("kv_block", std::move(blocks), decides);
}

void Axes::addPlacement(std::vector<PPlacement> placements, Rules decides) {
  if (overrides.pPlacement != PPlacement::Auto)
    placements = {overrides.pPlacement};
  Values values;
  for (PPlacement placement : placements)
    values.push_back(unsigned(placement));
  levels.push_back(
      {std::move(values), decides, [](Schedule &s, unsigned placement) {
         s.pPlacement = PPlacement(placement);
       }});
}

void Axes::addSlices(Values values) {
  slices = std::move(values);
  if (std::optional<unsigned> wanted = overrides[Choice::PSlices])
    slices = {*wanted};
}
