//===- LaunchTest.cpp - What libfmha_rt.so asks the driver for ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StubModule.h"
#include "fmha/Runtime/Driver/Types.h"

using namespace stub;
using testing::HasSubstr;

namespace {

/// CUlaunchConfig, and the parameters of the last launches.
struct Seen {
  std::array<uint32_t, 7> config;
  std::vector<std::array<uint64_t, 11>> maps;
  std::vector<uint64_t> numbers;
};
std::vector<Seen> seen;

/// The sample has four tensor maps, a pointer, three u64 and three u32.
void lookAtSample(const void *config, void **parameters) {
  Seen one;
  std::memcpy(one.config.data(), config, sizeof(one.config));
  for (int n = 0; n < 4; ++n) {
    one.maps.emplace_back();
    std::memcpy(one.maps.back().data(), parameters[n], 88);
  }
  for (int n = 4; n < 11; ++n) {
    uint64_t number = 0;
    std::memcpy(&number, parameters[n], n < 8 ? 8 : 4);
    one.numbers.push_back(number);
  }
  seen.push_back(one);
}

void lookAtGrid(const void *config, void **) {
  Seen one;
  std::memcpy(one.config.data(), config, sizeof(one.config));
  seen.push_back(one);
}

/// Ids and first values of the attributes of the last launch.
std::vector<std::pair<int, int>> attributes;

void lookAtAttributes(const void *config, void **) {
  fmha::runtime::driver::LaunchConfig launched;
  std::memcpy(&launched, config, sizeof(launched));
  attributes.clear();
  for (uint32_t n = 0; n < launched.attributeCount; ++n)
    attributes.emplace_back(launched.attributes[n].id,
                            launched.attributes[n].value.programmatic);
}

class RuntimeLaunch : public Launch {
protected:
  void SetUp() override { seen.clear(); }
};

TEST_F(RuntimeLaunch, ListsTheTensorsInTheirOrder) {
  Json manifest = sample();
  for (const char *name : {"kv_lens", "cu_seqlens_q", "sink", "source2"})
    manifest[name] = true;
  manifest["captures"] = Json::parse(R"([{"element": "f32", "rank": 4}])");
  load(manifest);
  std::string names;
  for (size_t n = 0; n < fmhaTensorCount(module); ++n)
    names += std::string(fmhaTensorName(module, n)) + " ";
  EXPECT_EQ(names, "q k v o lse kv_lens cu_seqlens_q sink k2 v2 capture0 ");
  EXPECT_EQ(fmhaTensorName(module, 11), nullptr);
  EXPECT_EQ(fmhaTensorCount(nullptr), 0u);
}

TEST_F(RuntimeLaunch, AttributesAreThoseOfTheManifest) {
  using List = std::vector<std::pair<int, int>>;
  constexpr int clusterDimension = 4, programmatic = 6;
  auto launched = [&](bool isProgrammatic, int cluster) {
    Json manifest = sample();
    if (isProgrammatic)
      manifest["programmatic"] = true;
    manifest["cluster"] = {cluster, 1, 1};
    load(manifest);
    tensors.clear();
    addSample();
    watch(lookAtAttributes);
    EXPECT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
    return attributes;
  };
  EXPECT_EQ(launched(false, 1), List());
  EXPECT_EQ(launched(true, 1), (List{{programmatic, 1}}));
  EXPECT_EQ(launched(false, 2), (List{{clusterDimension, 2}}));
  EXPECT_EQ(launched(true, 2),
            (List{{clusterDimension, 2}, {programmatic, 1}}));
}

TEST_F(RuntimeLaunch, PacksGridMapsAndNumbers) {
  load(sample());
  addSample();
  // lse [batch, heads, rows] with room after each row.
  tensors[4].strides = {6 * 512, 512, 1};
  watch(lookAtSample);
  ASSERT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
  ASSERT_EQ(seen.size(), 1u);
  // ceil(300 / 256) * 6 heads * 2 batches, 512 threads, 230400 bytes.
  EXPECT_EQ(seen[0].config,
            (std::array<uint32_t, 7>{24, 1, 1, 512, 1, 1, 230400}));
  EXPECT_EQ(seen[0].maps[1],
            (std::array<uint64_t, 11>{0x20000000, 64, 77, 2, 2, 0, 2 * 64 * 2,
                                      64 * 2, 77 * 2 * 64 * 2, 0, 0}));
  EXPECT_EQ(seen[0].numbers,
            (std::vector<uint64_t>{0x50000000, 6 * 512, 512, 1, 300, 77, 3}));
}

/// Kernels of plain threads take addresses and strides of all tensors.
TEST_F(RuntimeLaunch, PacksAddressesAndStrides) {
  Json manifest = sample(), parameters = Json::array();
  for (const char *name : {"q", "k", "v", "o"})
    parameters.push_back(
        {{"name", name}, {"kind", "pointer"}, {"tensor", name}});
  for (const char *name :
       {"q_stride_batch", "q_stride_row", "q_stride_head", "k_stride_batch",
        "k_stride_row", "k_stride_head", "v_stride_row", "o_stride_head"})
    parameters.push_back({{"name", name}, {"kind", "u64"}, {"value", name}});
  manifest["parameters"] = parameters;
  load(manifest);
  addSample();
  // k is [batch, heads, length, dim] in memory, with room after each head.
  tensors[1].strides = {2 * 80 * 64, 64, 80 * 64, 1};
  watch([](const void *, void **parameters) {
    seen.emplace_back();
    for (int n = 0; n < 12; ++n)
      seen.back().numbers.push_back(*static_cast<uint64_t *>(parameters[n]));
  });
  ASSERT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].numbers,
            (std::vector<uint64_t>{0x10000000, 0x20000000, 0x30000000,
                                   0x40000000, 300 * 6 * 64, 6 * 64, 64,
                                   2 * 80 * 64, 64, 80 * 64, 2 * 32, 32}));
}

TEST_F(RuntimeLaunch, TakesDenseStridesWhereNoneAreGiven) {
  load(sample());
  addSample();
  watch(lookAtSample);
  ASSERT_EQ(launch(), FMHA_SUCCESS);
  auto all = pointers();
  for (Tensor &tensor : tensors)
    tensor.dl.strides = nullptr;
  // An address is data and offset.
  tensors[0].dl.data = reinterpret_cast<void *>(0x10000000 - 96);
  tensors[0].dl.byte_offset = 96;
  ASSERT_EQ(fmhaLaunch(module, all.data(), all.size(), nullptr, nullptr),
            FMHA_SUCCESS);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].maps, seen[1].maps);
  EXPECT_EQ(seen[0].numbers, seen[1].numbers);
}

/// PyTorch and NumPy give dimensions of one element any stride.
TEST_F(RuntimeLaunch, IgnoresStridesOfSingleElements) {
  load(sample());
  addSample(1, 300, 1, 6, 1);
  tensors[0].strides[0] = 1;
  tensors[1].strides = {1, 3, -5, 1};
  watch(lookAtSample);
  ASSERT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(seen[0].maps[1][6 + n] % 16, 0u);
    EXPECT_GT(seen[0].maps[1][6 + n], 0u);
  }
}

TEST_F(RuntimeLaunch, ReadsNothingOfEmptyKeys) {
  load(sample());
  addSample(2, 300, 0);
  tensors[1].dl.data = tensors[2].dl.data = nullptr;
  tensors[1].strides = {1, 1, 1, 1};
  watch(lookAtSample);
  ASSERT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
  EXPECT_EQ(seen[0].maps[1][0], 0x10000000u);
  EXPECT_EQ(seen[0].maps[1][2], 1u);
  EXPECT_EQ(seen[0].numbers[5], 0u);
}

TEST_F(RuntimeLaunch, LaunchesNoEmptyGrid) {
  load(sample());
  addSample(2, 0);
  watch(lookAtSample);
  EXPECT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
  tensors.clear();
  addSample(0);
  EXPECT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
  EXPECT_EQ(seen.size(), 0u);
}

TEST_F(RuntimeLaunch, AStaticSchedulerLaunchesAsManyCtasAsTheDeviceHas) {
  Json manifest = sample();
  manifest["scheduler"] = "static";
  manifest["max_ctas"] = 148;
  manifest["ctas_per_sm"] = 2;
  manifest["parameters"].push_back(
      {{"name", "tiles"}, {"kind", "u32"}, {"value", "tiles"}});
  load(manifest);
  addSample();
  watch([](const void *config, void **parameters) {
    lookAtGrid(config, parameters);
    seen.back().numbers = {*static_cast<uint32_t *>(parameters[11])};
  });
  ASSERT_EQ(launch(), FMHA_SUCCESS);
  // The stub has 8 multiprocessors.
  EXPECT_EQ(seen[0].config[0], 16u);
  EXPECT_EQ(seen[0].numbers[0], 24u);
}

/// The counter is in the workspace, which the caller does not have to clear.
TEST_F(RuntimeLaunch, ATileCounterIsClearedOnTheStream) {
  Json manifest = sample();
  manifest["scheduler"] = "dynamic";
  manifest["max_ctas"] = 148;
  manifest["workspace"] = Json::parse(
      R"([{"tensor": "tile_counter", "dtype": "i32", "dims": [1], "zero": true}])");
  manifest["parameters"].push_back({{"name", "tile_counter"},
                                    {"kind", "pointer"},
                                    {"tensor", "tile_counter"}});
  load(manifest);
  addSample();
  watch([](const void *config, void **parameters) {
    lookAtGrid(config, parameters);
    seen.back().numbers = {**static_cast<uint32_t **>(parameters[11])};
  });
  auto all = pointers();
  uint64_t bytes = 0;
  ASSERT_EQ(fmhaWorkspaceBytes(module, all.data(), all.size(), &bytes),
            FMHA_SUCCESS);
  EXPECT_EQ(bytes, 16u);
  EXPECT_EQ(launch(), FMHA_ERROR_WORKSPACE);
  alignas(16) uint32_t workspace[4] = {7, 7, 7, 7};
  for (int run = 0; run < 2; ++run) {
    workspace[0] = 7;
    ASSERT_EQ(fmhaLaunch(module, all.data(), all.size(), workspace, nullptr),
              FMHA_SUCCESS)
        << fmhaLastError();
    EXPECT_EQ(seen[run].config[0], 8u);
    EXPECT_EQ(seen[run].numbers[0], 0u);
  }
  EXPECT_EQ(workspace[1], 7u);
}

TEST_F(RuntimeLaunch, PackedQueriesMayHaveALongestSequence) {
  Json manifest = sample();
  manifest["cu_seqlens_q"] = true;
  manifest["grid"]["x"] =
      Json::parse(R"([{"ceil_div": ["max_q_len", 256]}, "q_heads", "batch"])");
  load(manifest);
  add(0x10000000, {900, 6, 64}, bf16);
  add(0x20000000, {3, 77, 2, 64}, bf16);
  add(0x30000000, {3, 77, 2, 32}, bf16);
  add(0x40000000, {900, 6, 32}, bf16);
  add(0x50000000, {6, 900}, f32);
  add(0x60000000, {4}, i32);
  watch(lookAtGrid);
  ASSERT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
  EXPECT_EQ(seen[0].config[0], 4u * 6 * 3);
  auto all = pointers();
  FmhaLaunchOptions options = {};
  options.struct_bytes = sizeof(options);
  options.max_q_len = 400;
  ASSERT_EQ(fmhaLaunchWith(module, all.data(), all.size(), &options),
            FMHA_SUCCESS);
  EXPECT_EQ(seen[1].config[0], 2u * 6 * 3);
  options.max_q_len = 901;
  EXPECT_EQ(fmhaLaunchWith(module, all.data(), all.size(), &options),
            FMHA_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(fmhaLastError(), HasSubstr("the 900 rows of q, got 901"));
}

/// k and v may be halves of one cache, and heads may come before rows.
TEST_F(RuntimeLaunch, CachesOfPagesHaveTheirOwnExtentsAndStrides) {
  load(pagedSample());
  EXPECT_STREQ(fmhaTensorName(module, 5), "kv_lens");
  EXPECT_STREQ(fmhaTensorName(module, 6), "block_tables");
  addPagedSample();
  int64_t page = 2 * 16 * 2 * 64;
  tensors[1].strides = {page, 64, 16 * 64, 1};
  watch([](const void *config, void **parameters) {
    lookAtSample(config, parameters);
    for (int n : {11, 12})
      seen.back().numbers.push_back(*static_cast<uint32_t *>(parameters[n]));
  });
  ASSERT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
  uint64_t row = 64 * 2, head = 16 * row;
  EXPECT_EQ(seen[0].maps[1],
            (std::array<uint64_t, 11>{0x20000000 - head, 64, 16, 2, 9, 17, row,
                                      head, uint64_t(page) * 2, row, 0}));
  // The rest is group, max_pages and pages; kv_len is that of all pages.
  std::vector<uint64_t> last(seen[0].numbers.end() - 4, seen[0].numbers.end());
  EXPECT_EQ(last, (std::vector<uint64_t>{5 * 16, 3, 5, 9}));
}

/// The combining kernel runs after the other, on the same stream, on the
/// workspace of the caller.
TEST_F(RuntimeLaunch, SplitsWriteToTheWorkspaceAndAreCombined) {
  Json manifest = sample();
  manifest["splits"] = 3;
  manifest["workspace"] = Json::parse(R"([
    {"tensor": "o_parts", "dtype": "f32", "dims": [3]},
    {"tensor": "max_parts", "dtype": "f32", "dims": [3]},
    {"tensor": "sum_parts", "dtype": "f32", "dims": [3]}])");
  manifest["combine"] = Json::parse(R"({
    "kernel": "second", "block": [128, 1, 1],
    "grid": {"x": [{"ceil_div": ["q_len", 4]}], "y": ["q_heads"], "z": []},
    "parameters": [
      {"name": "o_parts", "kind": "pointer", "tensor": "o_parts"},
      {"name": "max_parts", "kind": "pointer", "tensor": "max_parts"},
      {"name": "sum_parts", "kind": "pointer", "tensor": "sum_parts"},
      {"name": "n", "kind": "u64", "value": "parts"},
      {"name": "s", "kind": "u64", "value": "o_parts_stride_part"}]})");
  load(manifest);
  addSample();
  watch([](const void *config, void **parameters) {
    lookAtGrid(config, parameters);
    if (seen.size() == 2)
      for (int n = 0; n < 5; ++n)
        seen.back().numbers.push_back(*static_cast<uint64_t *>(parameters[n]));
  });
  auto all = pointers();
  uint64_t bytes = 0;
  ASSERT_EQ(fmhaWorkspaceBytes(module, all.data(), all.size(), &bytes),
            FMHA_SUCCESS);
  uint64_t output = 3 * 2 * 300 * 6 * 32 * 4, rows = 3 * 2 * 300 * 6 * 4;
  EXPECT_GE(bytes, output + 2 * rows);
  EXPECT_EQ(launch(), FMHA_ERROR_WORKSPACE);
  EXPECT_THAT(fmhaLastError(), HasSubstr(std::to_string(bytes)));
  EXPECT_EQ(seen.size(), 0u);
  ASSERT_EQ(launch(reinterpret_cast<void *>(0x70000000)), FMHA_SUCCESS);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].config, (std::array<uint32_t, 7>{75, 6, 1, 128, 1, 1, 0}));
  EXPECT_EQ(seen[1].numbers[0], 0x70000000u);
  EXPECT_GE(seen[1].numbers[1], 0x70000000u + output);
  EXPECT_GE(seen[1].numbers[2], seen[1].numbers[1] + rows);
  EXPECT_LE(seen[1].numbers[2] + rows, 0x70000000u + bytes);
  EXPECT_EQ(seen[1].numbers[3], 3u);
  EXPECT_EQ(seen[1].numbers[4], 2u * 300 * 6 * 32);
}

TEST_F(RuntimeLaunch, MergesTakePartsInAnyStrides) {
  load(Json::parse(R"({
    "schema_version": 1, "kernel": "fmha_merge", "target": "sm_100a",
    "head_dim_v": 32, "out_dtype": "bf16", "lse": true, "row_max": false,
    "row_sum": false, "sink": false, "unnormalised": false,
    "block": [128, 1, 1], "grid": {"x": ["q_heads"], "y": ["q_len"], "z": []},
    "parameters": [
      {"name": "a", "kind": "u64", "value": "parts"},
      {"name": "b", "kind": "u64", "value": "o_parts_stride_part"},
      {"name": "c", "kind": "u64", "value": "max_parts_stride_head"},
      {"name": "d", "kind": "u64", "value": "o_stride_row"}]})"));
  add(0x10000000, {2, 9, 4, 32}, bf16);
  add(0x20000000, {2, 4, 9}, f32);
  Tensor &parts = add(0x30000000, {5, 2, 9, 4, 32}, f32);
  parts.strides[0] = 1 << 20;
  add(0x40000000, {5, 2, 4, 9}, f32);
  add(0x50000000, {5, 2, 4, 9}, f32);
  EXPECT_STREQ(fmhaTensorName(module, 2), "o_parts");
  watch([](const void *config, void **parameters) {
    lookAtGrid(config, parameters);
    for (int n = 0; n < 4; ++n)
      seen.back().numbers.push_back(*static_cast<uint64_t *>(parameters[n]));
  });
  ASSERT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
  EXPECT_EQ(seen[0].config[0], 4u);
  EXPECT_EQ(seen[0].config[1], 9u);
  EXPECT_EQ(seen[0].numbers, (std::vector<uint64_t>{5, 1 << 20, 9, 128}));
  tensors[3].shape[0] = 4;
  EXPECT_EQ(launch(), FMHA_ERROR_SHAPE);
  EXPECT_THAT(fmhaLastError(), HasSubstr("tensor 'max_parts': expected the "
                                         "shape [5, 2, 4, 9], got [4, 2, 4, "
                                         "9]"));
}

} // namespace
