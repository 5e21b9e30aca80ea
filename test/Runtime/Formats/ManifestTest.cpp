//===- ManifestTest.cpp - Launch manifests --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Manifest.h"
#include "fmha/Runtime/Files.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fmha::runtime;
using testing::HasSubstr;

namespace {

llvm::json::Value sample() {
  auto text = readFile(FMHA_TEST_DATA "/runtime/attention.json");
  EXPECT_TRUE(bool(text));
  auto value = llvm::json::parse(*text);
  EXPECT_TRUE(bool(value));
  return std::move(*value);
}

std::string problemOf(const llvm::json::Value &value) {
  auto manifest = parseManifest(llvm::formatv("{0}", value).str());
  return manifest ? "" : llvm::toString(manifest.takeError());
}

TEST(Manifest, ReadsEveryField) {
  auto manifest = parseManifest(llvm::formatv("{0}", sample()).str());
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(manifest->kernel, "fmha_fwd");
  EXPECT_EQ(manifest->target, "sm_100a");
  EXPECT_EQ(manifest->dtype, ElementType::BF16);
  EXPECT_EQ(manifest->headDim, 64u);
  EXPECT_TRUE(manifest->lse);
  EXPECT_EQ(manifest->pPlacement, "tmem");
  EXPECT_EQ(manifest->block, (std::array<uint32_t, 3>{512, 1, 1}));
  ASSERT_EQ(manifest->roles.size(), 2u);
  EXPECT_EQ(manifest->roles[1].firstWarp, 4u);
  ASSERT_EQ(manifest->parameters.size(), 11u);
  EXPECT_EQ(manifest->parameters[0].swizzle, Swizzle::B128);
  EXPECT_EQ(manifest->parameters[0].dims[1], MapDim::QLen);
  EXPECT_EQ(manifest->parameters[4].kind, Parameter::Kind::Pointer);
  EXPECT_EQ(manifest->parameters[10].value, RunValue::Group);
}

/// Every member of every object, taken away, is missed by its path.
TEST(Manifest, NamesTheMissingMember) {
  const llvm::json::Value whole = sample();
  for (const auto &member : *whole.getAsObject()) {
    llvm::json::Value value = sample();
    value.getAsObject()->erase(member.first);
    std::string name = member.first.str();
    EXPECT_EQ(problemOf(value),
              "manifest: expected a member '" + name + "', got none");
  }
}

TEST(Manifest, NamesThePathOfWhatIsWrong) {
  struct Case {
    std::function<void(llvm::json::Object &)> edit;
    std::string message;
  };
  auto parameter = [](llvm::json::Object &root,
                      size_t i) -> llvm::json::Object & {
    return *(*root.getArray("parameters"))[i].getAsObject();
  };
  const Case cases[] = {
      {[](auto &r) { r["schema_version"] = 2; },
       "manifest.schema_version: expected 1, got 2"},
      {[](auto &r) { r["blokc"] = 1; }, "got 'blokc'"},
      {[](auto &r) { r["kernel"] = 1; }, "manifest.kernel: expected a string"},
      {[](auto &r) { r["lse"] = "yes"; },
       "manifest.lse: expected true or false, got \"yes\""},
      {[](auto &r) { r["dtype"] = "f64"; },
       "manifest.dtype: expected one of f16, bf16, f32, e4m3, got \"f64\""},
      {[](auto &r) { r["smem_bytes"] = -1; },
       "manifest.smem_bytes: expected an"},
      {[](auto &r) { r["smem_bytes"] = 1.5; }, "manifest.smem_bytes: expected"},
      {[](auto &r) { r["block"] = llvm::json::Array{512, 1}; },
       "manifest.block: expected an array of 3, got one of 2"},
      {[](auto &r) { r["grid"] = nullptr; },
       "manifest.grid: expected an object"},
      {[](auto &r) { (*r.getObject("grid"))["y"] = llvm::json::Array{"rows"}; },
       "manifest.grid.y[0]: expected one of batch, "},
      {[](auto &r) {
         (*r.getObject("grid"))["x"] = llvm::json::Array{
             llvm::json::Object{{"ceil_div", llvm::json::Array{"q_len", 0}}}};
       },
       "manifest.grid.x[0].ceil_div[1]: expected an integer from 1"},
      {[&](auto &r) { parameter(r, 0)["kind"] = "texture"; },
       "manifest.parameters[0].kind: expected one of tensor_map, pointer, u32, "
       "u64, got \"texture\""},
      {[&](auto &r) { parameter(r, 0)["box"] = llvm::json::Array{64}; },
       "manifest.parameters[0].box: expected an array of 4, got one of 1"},
      {[&](auto &r) { parameter(r, 0)["dims"] = llvm::json::Array{}; },
       "manifest.parameters[0].dims: expected 1 to 5 dimensions, got 0"},
      {[&](auto &r) { parameter(r, 1).erase("swizzle"); },
       "manifest.parameters[1]: expected a member 'swizzle', got none"},
      {[&](auto &r) { parameter(r, 9)["value"] = "kv_length"; },
       "manifest.parameters[9].value: expected one of"},
  };
  for (const Case &test : cases) {
    llvm::json::Value value = sample();
    test.edit(*value.getAsObject());
    EXPECT_THAT(problemOf(value), HasSubstr(test.message));
  }
  auto text = parseManifest("{\"kernel\": ");
  ASSERT_FALSE(bool(text));
  EXPECT_THAT(llvm::toString(text.takeError()), HasSubstr("malformed launch"));
}

/// The sample with caches of e4m3, read by address.
llvm::json::Value sampleOf8Bits() {
  llvm::json::Value value = sample();
  llvm::json::Object &root = *value.getAsObject();
  root["kv_dtype"] = "e4m3";
  root["k_scale"] = root["v_scale"] = true;
  for (size_t n : {1, 2}) {
    llvm::json::Value &parameter = (*root.getArray("parameters"))[n];
    std::string name = parameter.getAsObject()->getString("name")->str();
    parameter = llvm::json::Object{
        {"name", name}, {"kind", "pointer"}, {"tensor", name}};
  }
  return value;
}

TEST(Manifest, ReadsTypesOfKeysAndTheirScales) {
  auto manifest = parseManifest(llvm::formatv("{0}", sampleOf8Bits()).str());
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(manifest->dtype, ElementType::BF16);
  EXPECT_EQ(manifest->kvDtype, ElementType::E4M3);
  EXPECT_EQ(manifest->outDtype, ElementType::BF16);
  EXPECT_TRUE(manifest->has(TensorName::KScale));
  EXPECT_FALSE(manifest->has(TensorName::QScale));
  auto plain = parseManifest(llvm::formatv("{0}", sample()).str());
  ASSERT_TRUE(bool(plain));
  EXPECT_EQ(plain->kvDtype, ElementType::BF16);
}

TEST(Manifest, NamesScalesThatDoNotFit) {
  struct {
    std::function<void(llvm::json::Object &)> edit;
    const char *message;
  } const cases[] = {
      {[](auto &r) { r.erase("v_scale"); },
       "manifest: expected k_scale and v_scale with k and v of e4m3, q_scale "
       "with q of e4m3, and none else"},
      {[](auto &r) { r["q_scale"] = true; }, "q_scale with q of e4m3"},
      {[](auto &r) { r["kv_dtype"] = "f16"; },
       "manifest: expected kv_dtype to be dtype or e4m3, got f16"},
      {[](auto &r) { r["out_dtype"] = "e4m3"; },
       "manifest.out_dtype: expected one of f16, bf16, f32, got \"e4m3\""},
      {[](auto &r) {
         r["dtype"] = "e4m3";
         r["q_scale"] = true;
       },
       "manifest: expected out_dtype with a dtype of e4m3"},
      {[](auto &r) { r["scale_per_page"] = true; },
       "manifest: expected scale_per_page with block_tables"},
      {[](auto &r) {
         r.erase("kv_dtype");
         r.erase("k_scale");
         r.erase("v_scale");
         r["scale_per_head"] = true;
       },
       "manifest: expected scale_per_head and scale_per_page with k and v of "
       "e4m3 only"},
      {[](auto &r) {
         (*(*r.getArray("parameters"))[0].getAsObject())["dtype"] = "e4m3";
       },
       "manifest.parameters[0].dtype: expected one of f16, bf16, f32, got "
       "\"e4m3\""}};
  for (const auto &[edit, message] : cases) {
    llvm::json::Value value = sampleOf8Bits();
    edit(*value.getAsObject());
    EXPECT_THAT(problemOf(value), HasSubstr(message));
  }
}

TEST(Manifest, GridExtentsAreProductsOfRoundedUpFactors) {
  Manifest manifest;
  manifest.grid[0] = {{RunValue::QLen, 256}, {RunValue::QHeads, 1}};
  manifest.grid[1] = {{RunValue::Batch, 1}};
  RunValues values;
  values[RunValue::QHeads] = 3;
  values[RunValue::Batch] = 5;
  for (uint64_t length : {0, 1, 255, 256, 257, 512, 513}) {
    values[RunValue::QLen] = length;
    auto grid = evaluateGrid(manifest, values);
    ASSERT_TRUE(bool(grid));
    uint32_t tiles = 0;
    for (uint64_t row = 0; row < length; row += 256)
      ++tiles;
    EXPECT_EQ(*grid, (std::array<uint32_t, 3>{tiles * 3, 5, 1}));
  }
}

TEST(Manifest, NumbersMultiplyTheGrid) {
  llvm::json::Value value = sample();
  value.getAsObject()->getObject("grid")->getArray("x")->push_back(3);
  auto before = parseManifest(llvm::formatv("{0}", sample()).str());
  auto after = parseManifest(llvm::formatv("{0}", value).str());
  ASSERT_TRUE(bool(before) && bool(after));
  RunValues values;
  values[RunValue::QLen] = 300;
  values[RunValue::Batch] = values[RunValue::QHeads] = 2;
  values[RunValue::KvHeads] = 1;
  values[RunValue::Group] = 2;
  EXPECT_EQ((*evaluateGrid(*after, values))[0],
            3 * (*evaluateGrid(*before, values))[0]);
  value.getAsObject()->getObject("grid")->getArray("x")->back() = 0;
  EXPECT_THAT(problemOf(value), HasSubstr("expected an integer from 1"));
}

TEST(Manifest, AStaticSchedulerBoundsTheGrid) {
  llvm::json::Value value = sample();
  auto single = parseManifest(llvm::formatv("{0}", value).str());
  (*value.getAsObject())["scheduler"] = "static";
  (*value.getAsObject())["max_ctas"] = 3;
  auto bounded = parseManifest(llvm::formatv("{0}", value).str());
  ASSERT_TRUE(bool(single) && bool(bounded));
  EXPECT_EQ(single->scheduler, "single");
  EXPECT_EQ(bounded->scheduler, "static");
  RunValues values;
  values[RunValue::KvHeads] = values[RunValue::Group] = 1;
  values[RunValue::QHeads] = 1;
  values[RunValue::Batch] = 1;
  for (uint64_t length : {0, 1, 4096}) {
    values[RunValue::QLen] = length;
    uint32_t tiles = (*evaluateGrid(*single, values))[0];
    EXPECT_EQ((*evaluateTiles(*bounded, values))[0], tiles);
    EXPECT_EQ((*evaluateGrid(*bounded, values))[0], std::min(tiles, 3u));
    // Whole clusters of two.
    bounded->cluster[0] = 2;
    EXPECT_EQ((*evaluateGrid(*bounded, values))[0], std::min(tiles, 2u));
    bounded->cluster[0] = 1;
  }
  bounded->cluster[0] = 2;
  EXPECT_EQ(fmha::launch::boundCtas(*bounded, 10, 148), 10u);
  EXPECT_EQ(fmha::launch::boundCtas(*bounded, 200, 147), 146u);
  EXPECT_EQ(fmha::launch::boundCtas(*bounded, 200, 1), 2u);
  (*value.getAsObject())["scheduler"] = "greedy";
  EXPECT_EQ(problemOf(value), "manifest.scheduler: expected one of single, "
                              "static, dynamic, got \"greedy\"");
}

TEST(Manifest, ATileCounterIsZeroAtFirst) {
  llvm::json::Value value = sample();
  auto without = parseManifest(llvm::formatv("{0}", value).str());
  llvm::json::Object counter{{"tensor", "tile_counter"},
                             {"dtype", "i32"},
                             {"dims", llvm::json::Array{1}},
                             {"zero", true}};
  (*value.getAsObject())["workspace"] =
      llvm::json::Array{llvm::json::Value(llvm::json::Object(counter))};
  auto with = parseManifest(llvm::formatv("{0}", value).str());
  ASSERT_TRUE(bool(without) && bool(with));
  EXPECT_FALSE(without->has(TensorName::TileCounter));
  EXPECT_TRUE(with->has(TensorName::TileCounter));
  counter.erase("zero");
  (*value.getAsObject())["workspace"] =
      llvm::json::Array{llvm::json::Value(std::move(counter))};
  EXPECT_EQ(problemOf(value),
            "manifest.workspace[0].tensor: expected \"zero\": true for "
            "tile_counter and no other buffer, got tile_counter");
}

TEST(Manifest, VInKIsFalseUnlessSaid) {
  llvm::json::Value value = sample();
  auto without = parseManifest(llvm::formatv("{0}", value).str());
  (*value.getAsObject())["v_in_k"] = true;
  auto with = parseManifest(llvm::formatv("{0}", value).str());
  ASSERT_TRUE(bool(without) && bool(with));
  EXPECT_FALSE(without->vInK);
  EXPECT_TRUE(with->vInK);
  (*value.getAsObject())["v_in_k"] = 1;
  EXPECT_EQ(problemOf(value), "manifest.v_in_k: expected true or false, got 1");
}

TEST(Manifest, ListsAreReadWhereSaid) {
  llvm::json::Value value = sample();
  (*value.getAsObject())["kv_lens"] = true;
  (*value.getAsObject())["cu_seqlens_k"] = true;
  (*value.getAsObject()
        ->getArray("parameters")
        ->front()
        .getAsObject())["sequences"] = true;
  auto manifest = parseManifest(llvm::formatv("{0}", value).str());
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_TRUE(manifest->kvLens && manifest->cuSeqlensK);
  EXPECT_FALSE(manifest->cuSeqlensQ);
  EXPECT_TRUE(manifest->parameters[0].sequences);
  EXPECT_FALSE(manifest->parameters[1].sequences);
}

TEST(Manifest, PagesHaveBlockTablesAndASizeThatIsAPowerOfTwo) {
  llvm::json::Value value = sample();
  llvm::json::Object &object = *value.getAsObject();
  object["page_size"] = 16;
  EXPECT_EQ(problemOf(value), "manifest: expected block_tables and page_size, "
                              "or neither, got one of them");
  object["block_tables"] = true;
  auto manifest = parseManifest(llvm::formatv("{0}", value).str());
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_TRUE(manifest->blockTables);
  EXPECT_EQ(manifest->pageSize, 16u);
  object["page_size"] = 24;
  EXPECT_EQ(problemOf(value),
            "manifest: expected page_size to be a power of two, got 24");
  object.erase("page_size");
  EXPECT_THAT(problemOf(value), HasSubstr("block_tables and page_size"));
}

TEST(Manifest, ListsOfBlocksComeInPairsWithTheSizeOfABlock) {
  llvm::json::Value value = sample();
  llvm::json::Object &object = *value.getAsObject();
  auto addTo = [&](std::initializer_list<const char *> names) {
    for (const char *name : names)
      object[name] = true;
  };
  const char *wrong = "kv_num_blocks, kv_indices, block_rows and block_keys";
  addTo({"kv_num_blocks", "kv_indices"});
  EXPECT_THAT(problemOf(value), HasSubstr(wrong));
  object["block_rows"] = 128;
  object["block_keys"] = 64;
  auto manifest = parseManifest(llvm::formatv("{0}", value).str());
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(manifest->blockRows, 128u);
  EXPECT_EQ(manifest->blockKeys, 64u);
  EXPECT_EQ(manifest->maxLength(), (int64_t(1) << 30) - 512);
  EXPECT_TRUE(manifest->has(TensorName::KvIndices));
  EXPECT_FALSE(manifest->has(TensorName::FullKvIndices));
  addTo({"full_kv_indices"});
  EXPECT_THAT(problemOf(value), HasSubstr(wrong));
  addTo({"full_kv_num_blocks"});
  EXPECT_EQ(problemOf(value), "");
  object.erase("kv_indices");
  EXPECT_THAT(problemOf(value), HasSubstr(wrong));
}

TEST(Manifest, RotatedColumnsComeWithNewKeys) {
  llvm::json::Value value = sample();
  llvm::json::Object &object = *value.getAsObject();
  object["rotary_dim"] = 32;
  EXPECT_THAT(problemOf(value),
              HasSubstr("expected key_new and an even rotary_dim"));
  object["key_new"] = true;
  object["rotary_interleaved"] = true;
  auto manifest = parseManifest(llvm::formatv("{0}", value).str());
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(manifest->rotaryDim, 32u);
  EXPECT_TRUE(manifest->has(TensorName::RotaryCos) &&
              manifest->has(TensorName::RotarySin));
  object["rotary_dim"] = 31;
  EXPECT_THAT(problemOf(value), HasSubstr("an even rotary_dim"));
  object.erase("rotary_dim");
  EXPECT_THAT(problemOf(value), HasSubstr("got rotary_dim 0"));
}

TEST(Manifest, SecondSourceIsReadWhereSaid) {
  llvm::json::Value value = sample();
  auto without = parseManifest(llvm::formatv("{0}", value).str());
  (*value.getAsObject())["source2"] = true;
  (*value.getAsObject())["source2_lens"] = true;
  (*value.getAsObject())["source2_mask"] = "causal";
  auto with = parseManifest(llvm::formatv("{0}", value).str());
  ASSERT_TRUE(bool(without) && bool(with));
  EXPECT_FALSE(without->source2 || without->has(TensorName::K2));
  EXPECT_EQ(without->mask2, "none");
  EXPECT_TRUE(with->source2 && with->source2Lens);
  EXPECT_TRUE(with->has(TensorName::V2) && with->has(TensorName::Source2Lens));
  EXPECT_EQ(with->mask2, "causal");
  (*value.getAsObject())["source2_mask"] = "window";
  EXPECT_THAT(problemOf(value), HasSubstr("manifest.source2_mask: expected"));
}

/// The sample with one tensor of two dimensions for code on scores, and a
/// parameter that speaks of it.
static llvm::json::Value withCapture(llvm::json::Object parameter) {
  llvm::json::Value value = sample();
  llvm::json::Object &root = *value.getAsObject();
  root["captures"] =
      llvm::json::Array{llvm::json::Object{{"element", "f32"}, {"rank", 2}}};
  root.getArray("parameters")->push_back(std::move(parameter));
  return value;
}

TEST(Manifest, ParametersOfCapturesSpeakOfWhatIsThere) {
  auto last =
      std::to_string(sample().getAsObject()->getArray("parameters")->size());
  auto number = [](int capture, const char *what, int dimension) {
    llvm::json::Object parameter{
        {"name", "capture"}, {"kind", "u32"}, {"capture", capture}};
    parameter[what] = dimension;
    return withCapture(std::move(parameter));
  };
  EXPECT_EQ(problemOf(number(0, "size", 1)), "");
  EXPECT_THAT(problemOf(number(1, "size", 0)),
              HasSubstr("manifest.parameters[" + last +
                        "].capture: expected one of the 1 entries of "
                        "\"captures\", got 1"));
  EXPECT_THAT(problemOf(number(0, "size", 2)),
              HasSubstr("].size: expected a dimension of rank 2, got 2"));
  EXPECT_THAT(problemOf(number(0, "stride", 3)),
              HasSubstr("].stride: expected a dimension of rank 2, got 3"));
}

TEST(Manifest, CapturesHaveElementsOfOneToEightBytesAndAnyRankFromZeroOn) {
  const std::pair<const char *, size_t> elements[] = {
      {"i1", 1},  {"i8", 1},  {"f16", 2}, {"bf16", 2},
      {"i32", 4}, {"f32", 4}, {"i64", 8}};
  for (auto [element, bytes] : elements) {
    llvm::json::Value value = sample();
    (*value.getAsObject())["captures"] = llvm::json::Array{
        llvm::json::Object{{"element", element}, {"rank", 0}}};
    auto manifest = parseManifest(llvm::formatv("{0}", value).str());
    ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
    EXPECT_EQ(manifest->captures[0].rank, 0u);
    EXPECT_EQ(sizeOf(manifest->captures[0].element), bytes) << element;
  }
  llvm::json::Value value = sample();
  (*value.getAsObject())["captures"] =
      llvm::json::Array{llvm::json::Object{{"element", "f64"}, {"rank", 9}}};
  EXPECT_THAT(problemOf(value),
              HasSubstr("manifest.captures[0].element: expected"));
}

/// What combines parts has a launch of its own, and parameters that speak of a
/// workspace.
TEST(Manifest, SplitsHaveAWorkspaceAndASecondKernel) {
  auto json = [](const char *text) {
    return llvm::cantFail(llvm::json::parse(text));
  };
  llvm::json::Value value = sample();
  llvm::json::Object &root = *value.getAsObject();
  root["splits"] = 4;
  EXPECT_THAT(problemOf(value), HasSubstr("expected a member 'workspace'"));
  root["workspace"] = json(R"([
    {"tensor": "o_parts", "dtype": "f32", "dims": [4, "batch"]},
    {"tensor": "max_parts", "dtype": "f32", "dims": [4]},
    {"tensor": "sum_parts", "dtype": "f32", "dims": [4]}])");
  EXPECT_THAT(problemOf(value), HasSubstr("expected a member 'combine'"));
  root["combine"] = json(R"({
    "kernel": "second", "block": [128, 1, 1],
    "grid": {"x": [{"ceil_div": ["q_len", 4]}], "y": [], "z": []},
    "parameters": [
      {"name": "o_parts", "kind": "pointer", "tensor": "o_parts"},
      {"name": "n", "kind": "u32", "value": "parts"}]})");
  auto manifest = parseManifest(llvm::formatv("{0}", value).str());
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(manifest->splits, 4u);
  ASSERT_TRUE(manifest->combine);
  EXPECT_EQ(manifest->combine->kernel, "second");
  EXPECT_TRUE(manifest->combine->takes(RunValue::Parts));
  EXPECT_FALSE(manifest->takes(RunValue::Parts));
  EXPECT_TRUE(manifest->has(TensorName::MaxParts));
  RunValues values;
  values[RunValue::QLen] = 9;
  EXPECT_EQ((*evaluateTiles(*manifest->combine, values))[0], 3u);
  root.getObject("combine")->getObject("grid")->erase("z");
  EXPECT_THAT(problemOf(value),
              HasSubstr("manifest.combine.grid: expected a member 'z'"));
}

TEST(Manifest, MergesAreReadByThemselves) {
  std::string text = R"({
    "schema_version": 1, "kernel": "fmha_merge", "target": "sm_100a",
    "head_dim_v": 64, "out_dtype": "f16", "lse": true, "row_max": false,
    "row_sum": false, "sink": false, "unnormalised": false,
    "block": [128, 1, 1], "parameters": [],
    "grid": {"x": ["q_heads"], "y": [], "z": []}})";
  auto manifest = parseMergeManifest(text);
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(manifest->outDtype, ElementType::F16);
  EXPECT_TRUE(manifest->has(TensorName::Lse));
  EXPECT_FALSE(manifest->has(TensorName::Sink));
  EXPECT_FALSE(manifest->has(TensorName::Q));
  auto other = parseMergeManifest(text.replace(text.find("f16"), 3, "f64"));
  ASSERT_FALSE(bool(other));
  EXPECT_THAT(llvm::toString(other.takeError()),
              HasSubstr("manifest.out_dtype"));
}

/// A merge says everything; attention may leave out what is not so.
TEST(Manifest, MergesNameTheMissingMember) {
  auto sample = [] {
    return llvm::cantFail(llvm::json::parse(R"({
      "schema_version": 1, "kernel": "fmha_merge", "target": "sm_100a",
      "head_dim_v": 64, "out_dtype": "f16", "lse": true, "row_max": false,
      "row_sum": false, "sink": false, "unnormalised": false,
      "block": [128, 1, 1], "parameters": [],
      "grid": {"x": ["q_heads"], "y": [], "z": []}})"));
  };
  auto problemOf = [](const llvm::json::Value &value) {
    auto manifest = parseMergeManifest(llvm::formatv("{0}", value).str());
    return manifest ? "" : llvm::toString(manifest.takeError());
  };
  EXPECT_EQ(problemOf(sample()), "");
  const llvm::json::Value whole = sample();
  for (const auto &member : *whole.getAsObject()) {
    llvm::json::Value value = sample();
    value.getAsObject()->erase(member.first);
    EXPECT_EQ(problemOf(value), "manifest: expected a member '" +
                                    member.first.str() + "', got none");
  }
  for (const char *name : {"mask", "q_tiles", "splits", "cluster"}) {
    llvm::json::Value value = sample();
    (*value.getAsObject())[name] = 2;
    EXPECT_THAT(problemOf(value), HasSubstr(std::string("got '") + name + "'"));
  }
}

TEST(Manifest, AppendsAreReadByThemselves) {
  auto read = [](llvm::StringRef members) {
    llvm::json::Value all = llvm::cantFail(llvm::json::parse(R"({
      "schema_version": 1, "append": true, "kernel": "fmha_append",
      "target": "sm_90a", "dtype": "f16", "head_dim": 64, "head_dim_v": 32,
      "grid": {"x": ["append_rows"], "y": ["append_heads"], "z": []},
      "block": [128, 1, 1], "parameters": []})"));
    llvm::json::Value others = llvm::cantFail(llvm::json::parse(members));
    for (auto &member : *others.getAsObject())
      (*all.getAsObject())[member.first] = member.second;
    return parseAppendManifest(llvm::formatv("{0}", all).str());
  };
  auto plain = read("{}");
  ASSERT_TRUE(bool(plain)) << llvm::toString(plain.takeError());
  EXPECT_EQ(plain->headDimV, 32u);
  EXPECT_TRUE(plain->has(TensorName::KvLens));
  EXPECT_FALSE(plain->has(TensorName::BlockTables));
  EXPECT_FALSE(plain->has(TensorName::O));
  auto rotary = read(R"({"page_size": 16, "rotary": "half", "rotary_dim": 32,
                         "query": true})");
  ASSERT_TRUE(bool(rotary)) << llvm::toString(rotary.takeError());
  for (TensorName name :
       {TensorName::RotaryCos, TensorName::QOut, TensorName::BlockTables})
    EXPECT_TRUE(rotary->has(name));
  const std::pair<const char *, const char *> wrong[] = {
      {R"({"append": false})", "expected true"},
      {R"({"dtype": "f32"})", "f16"},
      {R"({"page_size": 12})", "a power of two"},
      {R"({"rotary": "half"})", "rotary_dim"},
      {R"({"query": true})", "query only with them"},
      {R"({"mask": "none"})", "got 'mask'"}};
  for (auto [members, text] : wrong) {
    auto manifest = read(members);
    ASSERT_FALSE(bool(manifest)) << members;
    EXPECT_THAT(llvm::toString(manifest.takeError()), HasSubstr(text));
  }
}

TEST(Manifest, GridsBeyondTheHardwareAreRefused) {
  Manifest manifest;
  manifest.grid[0] = {{RunValue::QLen, 1}, {RunValue::QHeads, 1}};
  manifest.grid[2] = {{RunValue::Batch, 1}};
  RunValues values;
  values[RunValue::QLen] = 0x7fffffff;
  values[RunValue::QHeads] = 1;
  values[RunValue::Batch] = 65535;
  EXPECT_TRUE(bool(evaluateGrid(manifest, values)));
  values[RunValue::QHeads] = UINT64_MAX;
  auto wide = evaluateGrid(manifest, values);
  ASSERT_FALSE(bool(wide));
  EXPECT_THAT(llvm::toString(wide.takeError()),
              HasSubstr("extent x of at most 2147483647, got more than "
                        "18446744073709551615 = q_len 2147483647 * q_heads "));
  values[RunValue::QHeads] = 0;
  EXPECT_EQ((*evaluateGrid(manifest, values))[0], 0u);
  values[RunValue::Batch] = 65536;
  auto deep = evaluateGrid(manifest, values);
  ASSERT_FALSE(bool(deep));
  EXPECT_THAT(llvm::toString(deep.takeError()),
              HasSubstr("extent z of at most 65535, got 65536 = batch 65536"));
}

} // namespace
