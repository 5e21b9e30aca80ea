//===- SpecialiseChannels.cpp - The channels between the roles ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecialiseChannels.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

class ChannelBuilder {
public:
  ChannelBuilder(ImplicitLocOpBuilder &b, const KernelParts &parts,
                 const schedule::Schedule &schedule)
      : b(b), parts(parts), schedule(schedule) {}
  Channels run() {
    buildRings();
    for (unsigned tile = 0; tile < parts.tiles.size(); ++tile)
      buildTile(tile);
    return std::move(made);
  }

private:
  void buildRings();
  void buildTile(unsigned tile);
  void buildSlices(TileChannels &ch, unsigned tile);
  Value channel(const Twine &name, Type tile, Agent from, Agent to,
                bool unreleased, StringRef releasedBy = {});

  ImplicitLocOpBuilder &b;
  const KernelParts &parts;
  const schedule::Schedule &schedule;
  Channels made;
};

Value ChannelBuilder::channel(const Twine &name, Type tile, Agent from,
                              Agent to, bool unreleased, StringRef releasedBy) {
  auto arrivals = [](Agent agent) { return agent == Agent::Threads ? 128 : 1; };
  auto type = ChannelType::get(b.getContext(), cast<TileType>(tile));
  StringAttr releaser =
      releasedBy.empty() ? StringAttr() : b.getStringAttr(releasedBy);
  return ChannelOp::create(b, type, b.getStringAttr(name), from, to,
                           arrivals(from), arrivals(to), unreleased, releaser);
}

/// The type of a ring is that of its largest message.
void ChannelBuilder::buildRings() {
  auto largest = [](ArrayRef<LoadOp> loads) {
    return *llvm::max_element(loads, [](LoadOp a, LoadOp b) {
      return a.getType().getBytes() < b.getType().getBytes();
    });
  };
  bool split = schedule.vStages != 0;
  SmallVector<LoadOp> first(parts.keys.begin(), parts.keys.end());
  if (!split)
    first.append(parts.values.begin(), parts.values.end());
  made.ring = channel(split ? "k" : "kv", largest(first).getType(), Agent::Tma,
                      Agent::Mma, false);
  made.valueRing = made.ring;
  if (split)
    made.valueRing = channel("v", largest(parts.values).getType(), Agent::Tma,
                             Agent::Mma, false);
}

/// One name for P in one piece, "p0.0", "p0.1", ... for slices.
std::string sliceName(unsigned tile, size_t slice, size_t slices) {
  std::string name = "p" + std::to_string(tile);
  return slices == 1 ? name : name + "." + std::to_string(slice);
}

/// A slice is there when its own channel says so. All of them are free when the
/// last one is: its product is behind the others'.
void ChannelBuilder::buildSlices(TileChannels &ch, unsigned tile) {
  ArrayRef<SlicePart> slices = parts.tiles[tile].slices;
  std::string last = sliceName(tile, slices.size() - 1, slices.size());
  for (auto [n, slice] : llvm::enumerate(slices)) {
    std::string name = sliceName(tile, n, slices.size());
    ch.p.push_back(channel(name, MoveOp(slice.out).getType(), Agent::Threads,
                           Agent::Mma, false,
                           name == last ? StringRef() : last));
  }
}

void ChannelBuilder::buildTile(unsigned tile) {
  const QueryTileParts &part = parts.tiles[tile];
  bool aliased = schedule.pPlacement == schedule::PPlacement::Tmem;
  size_t slices = part.slices.size();
  Type scores = DotOp(part.scores.back()).getType();
  Type acc = DotOp(part.products.back().dot).getType();
  std::string n = std::to_string(tile);
  TileChannels ch;
  // Query, output and accumulator slots are never free for a second message of
  // their own accord: the first two are written once, and O goes to and fro
  // between mma and correction.
  ch.query = channel("q" + n, LoadOp(part.query).getType(), Agent::Tma,
                     Agent::Mma, /*unreleased=*/true);
  // P over S: the columns are free for new scores once the MMA has read P.
  ch.scores = channel("s" + n, scores, Agent::Mma, Agent::Threads, false,
                      aliased ? sliceName(tile, slices - 1, slices) : "");
  buildSlices(ch, tile);
  ch.stats = channel("stats" + n, MoveOp(part.alphaOut).getType(),
                     Agent::Threads, Agent::Threads, false);
  ch.ready = channel("ready" + n, acc, Agent::Threads, Agent::Mma,
                     /*unreleased=*/true);
  ch.done = channel("done" + n, acc, Agent::Mma, Agent::Threads,
                    /*unreleased=*/true);
  // Threads that write the output themselves hand nothing on.
  if (part.normalize)
    ch.out = channel("out" + n, NormalizeOp(part.normalize).getType(),
                     Agent::Threads, Agent::Tma, /*unreleased=*/true);
  made.tiles.push_back(ch);
}

} // namespace

Channels fmha::tile::buildChannels(ImplicitLocOpBuilder &b,
                                   const KernelParts &parts,
                                   const schedule::Schedule &schedule) {
  return ChannelBuilder(b, parts, schedule).run();
}
