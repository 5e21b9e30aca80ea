//===- LaunchTest.cpp - What a host computes for a launch -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Launch/Manifest.h"
#include "fmha/Runtime/Launch/NewKeys.h"
#include "fmha/Runtime/Launch/Overlap.h"
#include "fmha/Runtime/Launch/TensorMap.h"
#include "fmha/Runtime/Launch/Values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace fmha::launch;
using testing::HasSubstr;

namespace {

TEST(Names, AreFoundBySpelling) {
  EXPECT_EQ(nameOf(RunValue::SumPartsStrideRow), "sum_parts_stride_row");
  EXPECT_EQ(namesOf<RunValue>().size(), runValueCount);
  for (std::string_view name : namesOf<TensorName>())
    EXPECT_EQ(nameOf(*parseName<TensorName>(name)), name);
  EXPECT_FALSE(parseName<MapDim>("rows"));
}

TEST(ManifestReader, RefusesDeepNestingWithoutRecursion) {
  std::string problem, deep(1 << 20, '[');
  EXPECT_FALSE(parseManifest(deep, problem));
  EXPECT_THAT(problem, HasSubstr("malformed launch manifest: "));
  EXPECT_THAT(problem, HasSubstr("expected JSON of at most 32 levels"));
}

Parameter mapOfQueries() {
  Parameter map;
  map.name = "q";
  map.kind = Parameter::Kind::TensorMap;
  map.dims = {MapDim::HeadDim, MapDim::QLen, MapDim::QHeads, MapDim::Batch};
  map.box = {64, 128, 1, 1};
  return map;
}

/// A kernel of tensor cores has all rows that see a new key in one CTA.
TEST(NewKeys, NeedAllRowsInOneCta) {
  Manifest manifest;
  manifest.parameters = {mapOfQueries()};
  manifest.grid[0] = {{RunValue::QLen, 16}, {RunValue::Group, 8}};
  manifest.packHeads = 8;
  EXPECT_EQ(checkAppendingRows(manifest, 1, {17, 9}), "");
  manifest.keyNew = true;
  EXPECT_EQ(checkAppendingRows(manifest, 1, {16, 8}), "");
  EXPECT_EQ(checkAppendingRows(manifest, 0, {17, 9}), "");
  EXPECT_EQ(checkAppendingRows(manifest, 1, {17, 8}),
            "tensor 'q': expected at most 16 queries with key_new, the rows of "
            "a CTA of this kernel, got 17; compile with the lengths and heads "
            "of this launch, or append before attention");
  EXPECT_THAT(checkAppendingRows(manifest, 1, {16, 9}),
              HasSubstr("at most 8 query heads of a KV head with key_new"));
  // Plain threads read new keys from their own tensors.
  manifest.roles = {{"compute", 0, 4, 128}};
  EXPECT_EQ(checkAppendingRows(manifest, 1, {17, 9}), "");
}

/// Element (b, l, h, 0) of the view is where the map's strides lead.
TEST(TensorMap, FollowsTheStridesOfTheTensor) {
  View view{1 << 20, {2, 300, 6, 64}, {300 * 6 * 64, 6 * 64, 64, 1}};
  MapRequest request;
  std::string problem;
  ASSERT_TRUE(describeMap(mapOfQueries(), view, {}, request, problem));
  EXPECT_EQ(request.rank, 4u);
  EXPECT_EQ(request.extents, (std::array<uint64_t, 5>{64, 300, 6, 2, 0}));
  EXPECT_EQ(request.strides,
            (std::array<uint64_t, 4>{6 * 64 * 2, 64 * 2, 300 * 6 * 64 * 2, 0}));
}

TEST(TensorMap, SplitsHeadsIntoGroups) {
  Parameter map = mapOfQueries();
  map.dims = {MapDim::HeadDim, MapDim::Group, MapDim::QLen, MapDim::KvHeads,
              MapDim::Batch};
  map.box = {64, 2, 64, 1, 1};
  View view{4096, {2, 300, 6, 64}, {300 * 6 * 64, 64, 300 * 64, 1}};
  RunValues values;
  values[RunValue::Group] = 3;
  values[RunValue::KvHeads] = 2;
  MapRequest request;
  std::string problem;
  ASSERT_TRUE(describeMap(map, view, values, request, problem));
  EXPECT_EQ(request.extents, (std::array<uint64_t, 5>{64, 3, 300, 2, 2}));
  uint64_t head = 300 * 64 * 2;
  EXPECT_EQ(request.strides,
            (std::array<uint64_t, 4>{head, 128, 3 * head, 300 * 6 * 64 * 2}));
  view.strides[2] = int64_t(1) << 39;
  EXPECT_FALSE(describeMap(map, view, values, request, problem));
  EXPECT_THAT(problem, HasSubstr("compile with pack_heads = 1"));
}

/// Row i of a sequence of n rows that ends before row e is at coordinate
/// L - n + i, and e in the fifth dimension (../README.md of the headers).
TEST(TensorMap, OfSequencesBeginsATensorEarlier) {
  Parameter map = mapOfQueries();
  map.sequences = true;
  for (int64_t length : {0, 1, 300}) {
    View view{1 << 20, {1, length, 6, 64}, {0, 6 * 64, 64, 1}};
    MapRequest request;
    std::string problem;
    ASSERT_TRUE(describeMap(map, view, {}, request, problem));
    ASSERT_EQ(request.rank, 5u);
    uint64_t held = request.extents[1], row = request.strides[0];
    EXPECT_EQ(held, uint64_t(std::max<int64_t>(length, 1)));
    EXPECT_EQ(request.extents[4], held + 1);
    for (uint64_t n : {uint64_t(1), held})
      for (uint64_t e : {n, held})
        EXPECT_EQ(request.address + (held - n) * row + e * request.strides[3],
                  view.address + (e - n) * row);
  }
}

Parameter mapOfChunks() {
  Parameter map;
  map.name = "k";
  map.tensor = TensorName::K;
  map.kind = Parameter::Kind::TensorMap;
  map.dims = {MapDim::HeadDim, MapDim::Chunks};
  map.box = {64, 1};
  return map;
}

/// Every row of the tensor is a row of the map, and the last row is the last
/// one, whatever the order of the dimensions in memory is.
TEST(TensorMap, OfChunksHasEveryRow) {
  constexpr int64_t dim = 72;
  const std::array<int64_t, 4> dims = {5, 3, 2, dim};
  for (std::array<int64_t, 3> strides :
       {std::array<int64_t, 3>{6 * dim, 2 * dim, dim},
        std::array<int64_t, 3>{6 * dim, dim, 3 * dim},
        std::array<int64_t, 3>{6 * dim + 8, dim + 16, 4 * dim}}) {
    View view{1 << 20, dims, {strides[0], strides[1], strides[2], 1}};
    MapRequest request;
    std::string problem;
    ASSERT_TRUE(describeMap(mapOfChunks(), view, {}, request, problem));
    EXPECT_EQ(request.rank, 2u);
    EXPECT_EQ(request.address, view.address);
    EXPECT_EQ(request.extents[0], uint64_t(dim));
    EXPECT_EQ(request.strides[0], 16u);
    int64_t last = 4 * strides[0] + 2 * strides[1] + strides[2];
    EXPECT_EQ((request.extents[1] - 1) * 16, uint64_t(2 * last));
  }
}

TEST(TensorMap, OfChunksWithoutElementsHasOne) {
  MapRequest request;
  std::string problem;
  View view{1 << 20, {0, 1, 1, 64}, {64, 64, 64, 1}};
  ASSERT_TRUE(describeMap(mapOfChunks(), view, {}, request, problem));
  EXPECT_EQ(request.extents[1], 1u);
}

TEST(TensorMap, OfChunksChecksStridesAndExtent) {
  MapRequest request;
  std::string problem;
  View view{1 << 20, {5, 3, 2, 64}, {6 * 64, 132, 64, 1}};
  EXPECT_FALSE(describeMap(mapOfChunks(), view, {}, request, problem));
  EXPECT_EQ(problem,
            "tensor 'k': expected the stride of dimension 1 to be a "
            "multiple of 16 bytes and not negative, got 264 bytes; pad "
            "the rows");
  // A dimension of one element has no stride.
  view.dims[1] = 1;
  EXPECT_TRUE(describeMap(mapOfChunks(), view, {}, request, problem));
  // The last row begins at byte 2^35 - 16, then 16 bytes later.
  view = {1 << 20, {2, 1, 1, 64}, {(int64_t(1) << 34) - 8, 64, 64, 1}};
  EXPECT_TRUE(describeMap(mapOfChunks(), view, {}, request, problem));
  EXPECT_EQ(request.extents[1], uint64_t(1) << 31);
  view.strides[0] += 8;
  EXPECT_FALSE(describeMap(mapOfChunks(), view, {}, request, problem));
  EXPECT_THAT(problem, HasSubstr("compile with kv_copy = tma"));
}

TEST(TensorMap, NamesAnInnermostDimensionWithAStride) {
  Parameter map = mapOfQueries();
  map.dims[0] = MapDim::QLen;
  MapRequest request;
  std::string problem;
  EXPECT_FALSE(describeMap(map, {}, {}, request, problem));
  EXPECT_THAT(problem, HasSubstr("parameter 'q': expected the innermost"));
}

TEST(Parts, LieOneAfterTheOther) {
  PartViews views = partsAt(4096, 3, {2, 5, 4, 24});
  uint64_t output = 3 * 2 * 5 * 4 * 24 * 4, rows = 3 * 2 * 5 * 4 * 4;
  EXPECT_GE(views.max.address, views.o.address + output);
  EXPECT_GE(views.sum.address, views.max.address + rows);
  EXPECT_GE(4096 + views.bytes, views.sum.address + rows);
  EXPECT_EQ(views.max.address % 16, 0u);
  RunValues values;
  setPartStrides(3, views, values);
  EXPECT_EQ(values[RunValue::Parts], 3u);
  EXPECT_EQ(values[RunValue::OPartsStridePart], 2u * 5 * 4 * 24);
  EXPECT_EQ(values[RunValue::OPartsStrideRow], 4u * 24);
  EXPECT_EQ(values[RunValue::MaxPartsStrideHead], 5u);
  EXPECT_EQ(values[RunValue::SumPartsStrideRow], 1u);
  EXPECT_EQ(partsAt(0, 3, {2, 0, 4, 24}).bytes, 0u);
}

struct Strided {
  uint64_t address, block;
  std::vector<std::pair<int64_t, int64_t>> dims;

  Region region() const {
    Region made(address, block);
    for (auto [step, count] : dims)
      made.add(step, count);
    return made;
  }
  std::set<uint64_t> bytes() const {
    std::set<uint64_t> starts = {address}, all;
    for (auto [step, count] : dims) {
      std::set<uint64_t> next;
      for (uint64_t start : starts)
        for (int64_t n = 0; n < count; ++n)
          next.insert(start + uint64_t(step * n));
      starts = next;
    }
    for (uint64_t start : starts)
      for (uint64_t n = 0; n < block; ++n)
        all.insert(start + n);
    return all;
  }
};

Strided randomRegion(std::mt19937 &random) {
  auto number = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Strided made{uint64_t(number(1000, 1100)), uint64_t(number(0, 6)), {}};
  for (int n = number(0, 3); n > 0; --n)
    made.dims.push_back({number(-20, 40), number(n == 3 ? 0 : 1, 4)});
  return made;
}

/// Tensors that share a byte are found; slices of a packed tensor are not.
TEST(Overlap, MissesNoSharedByte) {
  unsigned seed = 4021;
  std::mt19937 random(seed);
  int apart = 0, shared = 0;
  for (int n = 0; n < 20000; ++n) {
    Strided a = randomRegion(random), b = randomRegion(random);
    std::set<uint64_t> ofA = a.bytes(), ofB = b.bytes(), both;
    std::set_intersection(ofA.begin(), ofA.end(), ofB.begin(), ofB.end(),
                          std::inserter(both, both.end()));
    bool found = mayOverlap(a.region(), b.region());
    ASSERT_TRUE(found || both.empty()) << "seed " << seed << ", case " << n;
    EXPECT_EQ(found, mayOverlap(b.region(), a.region()));
    apart += !found;
    shared += !both.empty();
  }
  EXPECT_GT(apart, 1000);
  EXPECT_GT(shared, 1000);
  // q and k of [length, 3, dim].
  Region q(4096, 128), k(4096 + 128, 128);
  q.add(3 * 128, 50);
  k.add(3 * 128, 50);
  EXPECT_FALSE(mayOverlap(q, k));
}

} // namespace
