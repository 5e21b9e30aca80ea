//===- TmaTileTest.cpp - Tensor copies against silicon --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TruthData.h"

#include "fmha/PTX/Sim/Units/TmaReduce.h"
#include "fmha/PTX/Sim/Units/TmaTile.h"

#include <gtest/gtest.h>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

constexpr uint64_t base = 0x100000;

struct Probe {
  std::string name;
  TensorMap map;
  std::vector<int32_t> coordinates;
  std::vector<uint16_t> offsets;
};

std::optional<Probe> probeOf(const nlohmann::json &entry) {
  const Recordings &recordings = Recordings::get();
  const nlohmann::json &p = entry["tensormap"];
  std::array<uint8_t, 128> bytes{};
  bool im2col = p["kind"] == "im2col";
  auto why = im2col ? encodeIm2col(im2colParams(p, base), bytes)
                    : encodeTiled(tiledParams(p, base), bytes);
  if (why)
    return std::nullopt;
  Probe probe{entry["name"], *decodeTensorMap(bytes), {}, {}};
  auto coords =
      recordings.values<int32_t>(*Recordings::find(entry["inputs"], "coords"));
  coords.resize(8);
  probe.coordinates.assign(coords.begin(), coords.begin() + probe.map.rank);
  if (im2col)
    for (unsigned i = 0; i + 2 < probe.map.rank; ++i)
      probe.offsets.push_back(uint16_t(coords[5 + i]));
  return probe;
}

TilePlan planOf(const Probe &probe, TileDirection direction) {
  if (probe.map.im2col)
    return planIm2col(probe.map, probe.coordinates, probe.offsets);
  return planTile(probe.map, probe.coordinates, direction);
}

bool interleaved(const nlohmann::json &entry) {
  return entry["tensormap"]["interleave"] != 0;
}

/// Shared memory after the load, from the 1024-aligned base.
std::vector<uint8_t> loadImage(const TilePlan &plan, uint32_t destination,
                               const std::vector<uint8_t> &tensor,
                               size_t bytes) {
  std::vector<uint8_t> shared(destination + plan.sharedBytes + 2048, 0xCD);
  std::vector<uint8_t> image(plan.imageBytes());
  for (const TileRow &row : plan.rows) {
    std::span<const uint8_t> valid;
    if (row.validBytes())
      valid = std::span(tensor).subspan(row.global - base, row.validBytes());
    loadRowImage(plan, row, valid, image);
    forEachChunk(plan, row, destination,
                 [&](uint32_t at, uint32_t from, uint32_t count) {
                   std::copy_n(&image[from], count, &shared[at]);
                 });
  }
  shared.resize(std::max(bytes, shared.size()), 0xCD);
  shared.resize(bytes);
  return shared;
}

void checkLoads(const std::string &prefix, unsigned atLeast) {
  const Recordings &recordings = Recordings::get();
  unsigned checked = 0;
  for (const nlohmann::json *entry : recordings.named(prefix)) {
    if (interleaved(*entry))
      continue;
    auto probe = probeOf(*entry);
    if (!probe)
      continue;
    TilePlan plan = planOf(*probe, TileDirection::Load);
    bool unaligned = probe->name.find("unaligned") != std::string::npos;
    EXPECT_EQ(plan.fault == TileFault::InnerUnaligned, unaligned)
        << probe->name;
    if (entry->contains("error") || unaligned)
      continue;
    auto tensor =
        recordings.data(*Recordings::find((*entry)["inputs"], "tensor"));
    auto expected =
        recordings.data(*Recordings::find((*entry)["outputs"], "image"));
    auto status = recordings.values<uint64_t>(
        *Recordings::find((*entry)["outputs"], "status"));
    const nlohmann::json &scalars = (*entry)["launch"]["scalars"];
    EXPECT_EQ(plan.txBytes, status[3]) << probe->name;
    auto image =
        loadImage(plan, scalars[2].get<uint32_t>(), tensor, expected.size());
    EXPECT_EQ(image, expected) << probe->name;
    ++checked;
  }
  EXPECT_GE(checked, atLeast);
}

TEST(TmaTile, LoadsAreThoseOfSilicon) { checkLoads("load.", 200); }

TEST(TmaTile, Im2colLoadsAreThoseOfSilicon) { checkLoads("im2col.", 20); }

/// Global memory after a store or reduction of the recorded shared image.
void storeInto(const TilePlan &plan, const std::vector<uint8_t> &shared,
               std::vector<uint8_t> &tensor, std::optional<ReduceOp> op,
               ReduceType type) {
  std::vector<uint8_t> image(plan.imageBytes());
  for (const TileRow &row : plan.rows) {
    forEachChunk(plan, row, 0, [&](uint32_t at, uint32_t from, uint32_t count) {
      std::copy_n(&shared[at], count, &image[from]);
    });
    std::span<uint8_t> target(tensor);
    if (!row.validBytes())
      continue;
    target = target.subspan(row.global - base, row.validBytes());
    auto source = std::span(image).subspan(row.validBegin, row.validBytes());
    if (op)
      reduceInto(*op, type, target, source);
    else
      std::copy(source.begin(), source.end(), target.begin());
  }
}

ReduceType reduceTypeOf(MapType type) {
  static const std::map<MapType, ReduceType> types = {
      {MapType::U32, ReduceType::U32}, {MapType::S32, ReduceType::S32},
      {MapType::U64, ReduceType::U64}, {MapType::S64, ReduceType::S64},
      {MapType::F16, ReduceType::F16}, {MapType::BF16, ReduceType::BF16},
      {MapType::F32, ReduceType::F32}, {MapType::F64, ReduceType::F64}};
  return types.at(type);
}

void checkStores(const std::string &prefix, unsigned atLeast, bool reduce) {
  const Recordings &recordings = Recordings::get();
  unsigned checked = 0, faults = 0;
  for (const nlohmann::json *entry : recordings.named(prefix)) {
    auto probe = probeOf(*entry);
    ASSERT_TRUE(probe) << (*entry)["name"];
    TilePlan plan = planOf(*probe, TileDirection::Store);
    bool dies = entry->contains("error");
    EXPECT_EQ(plan.fault != TileFault::None, dies) << probe->name;
    faults += dies;
    if (dies)
      continue;
    auto shared =
        recordings.data(*Recordings::find((*entry)["inputs"], "image"));
    const auto *output = Recordings::find((*entry)["outputs"], "tensor");
    auto tensor = recordings.data(*output, "init_offset");
    std::optional<ReduceOp> op;
    ReduceType type = ReduceType::U32;
    if (reduce) {
      std::string text = (*entry)["ptx"];
      size_t at = text.find("shared::cta.") + 12;
      op = parseReduceOp(text.substr(at, text.find('.', at) - at));
      ASSERT_TRUE(op) << text;
      type = reduceTypeOf(probe->map.type);
      EXPECT_TRUE(isReduction(*op, type)) << probe->name;
    }
    storeInto(plan, shared, tensor, op, type);
    EXPECT_EQ(tensor, recordings.data(*output)) << probe->name;
    ++checked;
  }
  EXPECT_GE(checked, atLeast);
  if (!reduce)
    EXPECT_GE(faults, 10u);
}

TEST(TmaTile, StoresAreThoseOfSilicon) { checkStores("store.", 45, false); }

TEST(TmaTile, ReductionsAreThoseOfSilicon) { checkStores("reduce.", 30, true); }

TEST(TmaReduce, PlainReductionsAreThoseOfSilicon) {
  const Recordings &recordings = Recordings::get();
  unsigned checked = 0;
  for (const nlohmann::json *entry : recordings.named("bulk.reduce.")) {
    std::string text = (*entry)["ptx"];
    size_t at = text.find("bulk_group.") + 11;
    std::string op = text.substr(at, text.find('.', at) - at);
    std::string type = text.substr(text.find_last_of('.', text.find(' ')) + 1);
    type = type.substr(0, type.find(' '));
    auto parsedOp = parseReduceOp(op);
    auto parsedType = parseReduceType(type);
    ASSERT_TRUE(parsedOp && parsedType) << text;
    EXPECT_TRUE(isReduction(*parsedOp, *parsedType)) << text;
    auto operand = recordings.data((*entry)["inputs"][0]);
    const nlohmann::json &output = (*entry)["outputs"][0];
    auto memory = recordings.data(output, "init_offset");
    uint32_t size = (*entry)["launch"]["scalars"].back();
    ASSERT_LE(size, memory.size());
    reduceInto(*parsedOp, *parsedType, std::span(memory).first(size),
               std::span(operand).first(size));
    EXPECT_EQ(memory, recordings.data(output)) << (*entry)["name"];
    ++checked;
  }
  EXPECT_GE(checked, 35u);
}

TEST(TmaTile, GatherAndScatterTakeRowsInAnyOrder) {
  TiledParams p;
  p.dataType = unsigned(MapType::BF16);
  p.rank = 2;
  p.address = base;
  p.dims = {128, 50};
  p.strides = {0, 512};
  p.box = {64, 1};
  p.elementStrides = {1, 1};
  p.swizzle = unsigned(MapSwizzle::B128);
  std::array<uint8_t, 128> bytes{};
  ASSERT_FALSE(encodeTiled(p, bytes));
  TensorMap map = *decodeTensorMap(bytes);
  std::array<int32_t, 5> coordinates = {64, 7, 49, 50, 3};
  TilePlan plan = planGather4(map, coordinates, TileDirection::Load);
  ASSERT_EQ(plan.fault, TileFault::None);
  ASSERT_EQ(plan.rows.size(), 4u);
  EXPECT_EQ(plan.txBytes, 4 * 128u);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(plan.rows[i].shared, 128 * i);
    bool inside = coordinates[i + 1] < 50;
    EXPECT_EQ(plan.rows[i].validBytes(), inside ? 128u : 0u);
    if (inside)
      EXPECT_EQ(plan.rows[i].global, base + 512 * coordinates[i + 1] + 128);
  }
  EXPECT_EQ(
      planGather4(map, std::span(coordinates).first(4), TileDirection::Load)
          .fault,
      TileFault::WrongMode);
}

} // namespace
