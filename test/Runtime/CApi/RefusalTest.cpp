//===- RefusalTest.cpp - What libfmha_rt.so refuses -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StubModule.h"

using namespace stub;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

class RuntimeRefusal : public Launch {
protected:
  void SetUp() override {
    load(sample());
    addSample();
  }
  /// Launches, expects an error before any driver call, and restores the
  /// tensors.
  void refused(FmhaStatus status, const char *text) {
    unsigned long launches = count("stubLaunches");
    EXPECT_EQ(launch(), status);
    EXPECT_THAT(fmhaLastError(), HasSubstr(text));
    EXPECT_EQ(count("stubLaunches"), launches);
    tensors.clear();
    addSample();
  }
};

TEST_F(RuntimeRefusal, OtherNumbersOfTensors) {
  auto all = pointers();
  EXPECT_EQ(fmhaLaunch(module, all.data(), 4, nullptr, nullptr),
            FMHA_ERROR_TENSOR_COUNT);
  EXPECT_THAT(fmhaLastError(),
              HasSubstr("tensors: expected 5 (q k v o lse), got 4"));
  EXPECT_EQ(fmhaLaunch(module, nullptr, 5, nullptr, nullptr),
            FMHA_ERROR_TENSOR_COUNT);
  all[2] = nullptr;
  EXPECT_EQ(fmhaLaunch(module, all.data(), 5, nullptr, nullptr),
            FMHA_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(fmhaLastError(), HasSubstr("tensor 'v': expected a DLTensor"));
}

TEST_F(RuntimeRefusal, MemoryThatIsNotOfTheDevice) {
  tensors[1].dl.device.device_type = kDLCPU;
  refused(FMHA_ERROR_DEVICE, "tensor 'k': expected memory of a device (kDLCUDA "
                             "or kDLCUDAManaged), got kDLCPU (1); copy it to "
                             "device 0");
  tensors[4].dl.device.device_type = kDLCUDAHost;
  refused(FMHA_ERROR_DEVICE, "tensor 'lse'");
  tensors[3].dl.device.device_id = 1;
  refused(FMHA_ERROR_DEVICE, "tensor 'o': expected memory of device 0, where "
                             "the module was loaded, got device 1");
  tensors[0].dl.device.device_type = kDLCUDAManaged;
  EXPECT_EQ(launch(), FMHA_SUCCESS);
}

TEST_F(RuntimeRefusal, OtherTypes) {
  tensors[0].dl.dtype = {kDLFloat, 16, 1};
  refused(FMHA_ERROR_DTYPE, "tensor 'q': expected elements of type bfloat16, "
                            "got float16; convert it");
  tensors[4].dl.dtype = {kDLFloat, 64, 1};
  refused(FMHA_ERROR_DTYPE, "tensor 'lse': expected elements of type float32");
  tensors[1].dl.dtype.lanes = 2;
  refused(FMHA_ERROR_DTYPE, "tensor 'k'");
  tensors[1].dl.dtype.code = 77;
  refused(FMHA_ERROR_DTYPE, "tensor 'k'");
}

/// The sample with caches of e4m3, read by address, and a scale per KV head.
Json sampleOf8Bits() {
  Json manifest = sample();
  manifest["kv_dtype"] = "e4m3";
  manifest["k_scale"] = manifest["v_scale"] = true;
  manifest["scale_per_head"] = true;
  for (auto [n, name] : {std::pair(1, "k"), {2, "v"}})
    manifest["parameters"][n] = {
        {"name", name}, {"kind", "pointer"}, {"tensor", name}};
  return manifest;
}

TEST_F(RuntimeRefusal, TypesAndScalesOfCachesOf8Bits) {
  constexpr DLDataType e4m3 = {kDLFloat8_e4m3fn, 8, 1}, u8 = {kDLUInt, 8, 1};
  load(sampleOf8Bits());
  auto start = [&](DLDataType type) {
    tensors.clear();
    addSample();
    tensors[1].dl.dtype = tensors[2].dl.dtype = type;
    add(0x60000000, {2}, f32);
    add(0x60001000, {2}, f32);
  };
  for (DLDataType type : {e4m3, u8}) {
    start(type);
    EXPECT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
  }
  auto refuse = [&](FmhaStatus status, const char *text) {
    EXPECT_EQ(launch(), status);
    EXPECT_THAT(fmhaLastError(), HasSubstr(text));
  };
  start(bf16);
  refuse(FMHA_ERROR_DTYPE, "tensor 'k': expected elements of type "
                           "float8_e4m3fn, got bfloat16");
  start({kDLInt, 8, 1});
  refuse(FMHA_ERROR_DTYPE, "expected elements of type float8_e4m3fn, got int8");
  start({11, 8, 1});
  refuse(FMHA_ERROR_DTYPE, "got type code 11 of bits 8");
  start(e4m3);
  tensors[0].dl.dtype = e4m3;
  refuse(FMHA_ERROR_DTYPE, "tensor 'q': expected elements of type bfloat16, "
                           "got float8_e4m3fn");
  start(e4m3);
  tensors[5].shape = {3};
  refuse(FMHA_ERROR_SHAPE, "tensor 'k_scale': expected the shape [2], got [3]; "
                           "one per KV head");
  start(e4m3);
  tensors[6].dl.dtype = i32;
  refuse(FMHA_ERROR_DTYPE, "tensor 'v_scale': expected elements of type "
                           "float32, got int32");
  start(e4m3);
  tensors.pop_back();
  refuse(FMHA_ERROR_TENSOR_COUNT,
         "tensors: expected 7 (q k v o lse k_scale v_scale), got 6");
}

TEST_F(RuntimeRefusal, OtherShapes) {
  tensors[0].shape = {2, 300, 384};
  tensors[0].strides = {300 * 384, 384, 1};
  refused(FMHA_ERROR_SHAPE, "tensor 'q': expected [batch, length, heads, dim], "
                            "got 3 dimensions; reshape it");
  tensors[0].shape[3] = 128;
  refused(FMHA_ERROR_SHAPE, "tensor 'q': expected the shape [2, 300, 6, 64], "
                            "got [2, 300, 6, 128]");
  tensors[1].shape[0] = 3;
  refused(FMHA_ERROR_SHAPE, "tensor 'k': expected the shape [2, 77, 2, 64], "
                            "got [3, 77, 2, 64]");
  tensors[2].shape[1] = 78;
  refused(FMHA_ERROR_SHAPE, "tensor 'v': expected the shape [2, 77, 2, 32]");
  tensors[3].shape[1] = 299;
  refused(FMHA_ERROR_SHAPE, "tensor 'o': expected the shape [2, 300, 6, 32]");
  tensors[4].shape = {2, 300, 6};
  refused(FMHA_ERROR_SHAPE, "tensor 'lse': expected the shape [2, 6, 300], got "
                            "[2, 300, 6]");
  tensors[0].shape[2] = 5;
  refused(FMHA_ERROR_SHAPE, "tensor 'q': expected a multiple of the 2 KV heads "
                            "of k, got 5 query heads");
  tensors[0].shape[1] = -1;
  refused(FMHA_ERROR_SHAPE, "tensor 'q': expected extents from 0 on");
  tensors[0].shape = {int64_t(1) << 40, int64_t(1) << 40, 1, 64};
  refused(FMHA_ERROR_SHAPE, "at most 2^44 elements");
  tensors[1].shape[1] = tensors[2].shape[1] = int64_t(1) << 31;
  refused(FMHA_ERROR_SHAPE,
          "tensor 'k': expected a length of at most 2147483136");
}

TEST_F(RuntimeRefusal, StridesThatNoTensorMapTakes) {
  tensors[0].strides[3] = 2;
  refused(FMHA_ERROR_STRIDES, "tensor 'q': expected stride 1 in the last "
                              "dimension, got 2 elements in dimension 3");
  tensors[1].strides[1] = 132;
  refused(FMHA_ERROR_STRIDES, "tensor 'k': expected strides that are multiples "
                              "of 16 bytes, got 132 elements in dimension 1");
  tensors[2].strides[0] = -64;
  refused(FMHA_ERROR_STRIDES, "tensor 'v': expected strides from 0");
  tensors[2].strides[0] = int64_t(1) << 39;
  refused(FMHA_ERROR_STRIDES, "less than 2^40 bytes");
  tensors[3].strides[0] = 0;
  refused(FMHA_ERROR_STRIDES, "tensor 'o': expected an output whose elements "
                              "have memory of their own");
}

TEST_F(RuntimeRefusal, AddressesThatDoNotFit) {
  tensors[1].dl.byte_offset = 2;
  refused(FMHA_ERROR_ALIGNMENT, "tensor 'k': expected an address that is a "
                                "multiple of 16 bytes, got one 2 bytes past");
  tensors[4].dl.byte_offset = 4;
  EXPECT_EQ(launch(), FMHA_SUCCESS);
  tensors[4].dl.byte_offset = 2;
  refused(FMHA_ERROR_ALIGNMENT, "tensor 'lse'");
  tensors[2].dl.data = nullptr;
  refused(FMHA_ERROR_INVALID_ARGUMENT, "tensor 'v': expected the address of "
                                       "[2, 77, 2, 32] elements, got NULL");
}

TEST_F(RuntimeRefusal, OutputsInTheMemoryOfOtherTensors) {
  tensors[3].dl.data = tensors[0].dl.data;
  refused(FMHA_ERROR_OVERLAP, "tensor 'o': expected memory of its own, got "
                              "bytes that tensor 'q' has too");
  tensors[4].dl.data = reinterpret_cast<void *>(0x40000000 + 1024);
  refused(FMHA_ERROR_OVERLAP, "tensor 'lse': expected memory of its own, got "
                              "bytes that tensor 'o' has too");
  // Inputs may share.
  tensors[2].dl.data = tensors[1].dl.data;
  EXPECT_EQ(launch(), FMHA_SUCCESS);
}

TEST_F(RuntimeRefusal, GridsBeyondTheHardware) {
  Json manifest = sample();
  manifest["grid"]["z"] = {"q_len"};
  load(manifest);
  tensors.clear();
  addSample(1, 70000, 8, 1, 1);
  EXPECT_EQ(launch(), FMHA_ERROR_GRID);
  EXPECT_THAT(fmhaLastError(), HasSubstr("got 70000 = q_len 70000; split"));
}

TEST_F(RuntimeRefusal, VThatIsNotInK) {
  Json manifest = sample();
  manifest["v_in_k"] = true;
  load(manifest);
  refused(FMHA_ERROR_STRIDES,
          "tensor 'v': expected the first columns of tensor "
          "'k'");
  tensors[2].dl.data = tensors[1].dl.data;
  tensors[2].strides = tensors[1].strides;
  EXPECT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
}

TEST_F(RuntimeRefusal, ListsOfOtherLengths) {
  Json manifest = sample();
  manifest["kv_lens"] = manifest["sink"] = true;
  load(manifest);
  add(0x60000000, {3}, i32);
  add(0x60001000, {6}, f32);
  EXPECT_EQ(launch(), FMHA_ERROR_SHAPE);
  EXPECT_THAT(fmhaLastError(), HasSubstr("tensor 'kv_lens': expected the shape "
                                         "[2], got [3]"));
  tensors[5].shape[0] = 2;
  tensors[6].shape[0] = 2;
  EXPECT_EQ(launch(), FMHA_ERROR_SHAPE);
  EXPECT_THAT(fmhaLastError(), HasSubstr("tensor 'sink': expected the shape "
                                         "[6], got [2]"));
  tensors[6].shape[0] = 6;
  EXPECT_EQ(launch(), FMHA_SUCCESS);
}

TEST_F(RuntimeRefusal, CachesAndTablesThatDoNotFit) {
  load(pagedSample());
  auto launchOther = [&](size_t n, auto &&change) {
    tensors.clear();
    addPagedSample();
    change(tensors[n]);
    return launch();
  };
  EXPECT_EQ(launchOther(1, [](Tensor &k) { k.shape[1] = 32; }),
            FMHA_ERROR_SHAPE);
  EXPECT_THAT(fmhaLastError(),
              HasSubstr("tensor 'k': expected the shape [9, 16, 2, 64], got "
                        "[9, 32, 2, 64]; the kernel is compiled for that page "
                        "size and head dim"));
  EXPECT_EQ(launchOther(2, [](Tensor &v) { v.shape[0] = 8; }),
            FMHA_ERROR_SHAPE);
  EXPECT_THAT(fmhaLastError(), HasSubstr("tensor 'v': expected the shape [9, "
                                         "16, 2, 32], got [8, 16, 2, 32]"));
  EXPECT_EQ(launchOther(6, [](Tensor &table) { table.shape[0] = 3; }),
            FMHA_ERROR_SHAPE);
  EXPECT_THAT(fmhaLastError(),
              HasSubstr("tensor 'block_tables': expected the shape [2, 5], got "
                        "[3, 5]; a row for each of the sequences of q"));
  EXPECT_EQ(launchOther(6, [](Tensor &table) { table.strides[0] = 8; }),
            FMHA_ERROR_STRIDES);
  EXPECT_THAT(
      fmhaLastError(),
      HasSubstr("tensor 'block_tables': expected rows without gaps, got "
                "8 elements in dimension 0 of shape [2, 5]; copy it "
                "to a dense tensor"));
  EXPECT_EQ(
      launchOther(6, [](Tensor &table) { table = {0x60001000, {10}, i32}; }),
      FMHA_ERROR_SHAPE);
  EXPECT_THAT(fmhaLastError(), HasSubstr("tensor 'block_tables': expected "
                                         "[sequences, entries], got 1"));
  EXPECT_EQ(launchOther(6, [](Tensor &table) { table.dl.dtype = f32; }),
            FMHA_ERROR_DTYPE);
  EXPECT_EQ(launchOther(6, [](Tensor &table) { table.shape[1] = 1 << 28; }),
            FMHA_ERROR_SHAPE);
  EXPECT_THAT(fmhaLastError(),
              HasSubstr("tensor 'k': expected a length of at most"));
}

TEST_F(RuntimeRefusal, ListsOfKeysThatDoNotFit) {
  Json manifest = sample();
  manifest["topk"] = true;
  manifest["parameters"].push_back(
      {{"name", "topk_len"}, {"kind", "u32"}, {"value", "topk_len"}});
  load(manifest);
  auto launchOther = [&](auto &&change) {
    tensors.clear();
    addSample();
    int64_t queries = tensors[0].shape[1];
    add(0x60000000, {2, queries, 7}, i32);
    change(tensors.back());
    return launch();
  };
  EXPECT_EQ(launchOther([](Tensor &) {}), FMHA_SUCCESS) << fmhaLastError();
  EXPECT_EQ(launchOther([](Tensor &lists) { lists.shape[0] = 3; }),
            FMHA_ERROR_SHAPE);
  EXPECT_THAT(fmhaLastError(), HasSubstr("tensor 'topk': expected the shape"));
  EXPECT_THAT(fmhaLastError(), HasSubstr("a list for each of the queries"));
  EXPECT_EQ(launchOther([](Tensor &lists) { lists.shape[2] = 1 << 22; }),
            FMHA_ERROR_SHAPE);
  EXPECT_THAT(fmhaLastError(),
              HasSubstr("tensor 'topk': expected less than 2^31 elements, got "
                        "2516582400; launch for fewer queries at a time"));
  EXPECT_EQ(launchOther([](Tensor &lists) { lists.strides[1] = 8; }),
            FMHA_ERROR_STRIDES);
  EXPECT_THAT(fmhaLastError(),
              HasSubstr("tensor 'topk': expected rows without gaps, got 8 "
                        "elements in dimension 1"));
  EXPECT_EQ(launchOther([](Tensor &lists) { lists.strides[0] += 7; }),
            FMHA_ERROR_STRIDES);
  EXPECT_EQ(launchOther([](Tensor &lists) { lists = {0x60000000, {14}, i32}; }),
            FMHA_ERROR_SHAPE);
  EXPECT_THAT(fmhaLastError(),
              HasSubstr("tensor 'topk': expected [batch, length, entries], got "
                        "1 dimensions"));
  EXPECT_EQ(launchOther([](Tensor &lists) { lists.dl.dtype = f32; }),
            FMHA_ERROR_DTYPE);
}

/// The sample with lists of blocks of 128 rows, and full ones.
Json blocksSample() {
  Json manifest = sample();
  for (const char *name :
       {"kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"})
    manifest[name] = true;
  manifest["block_rows"] = 128;
  manifest["block_keys"] = 64;
  for (const char *value :
       {"blocks_batch", "blocks_heads", "blocks_len", "full_blocks_len"})
    manifest["parameters"].push_back(
        {{"name", value}, {"kind", "u32"}, {"value", value}});
  return manifest;
}

TEST_F(RuntimeRefusal, ListsOfBlocksThatDoNotFit) {
  load(blocksSample());
  using Extents = std::vector<int64_t>;
  auto start = [&](Extents counts, Extents lists, Extents full) {
    tensors.clear();
    addSample();
    add(0x60000000, counts, i32);
    add(0x61000000, lists, i32);
    add(0x62000000,
        full.size() == 4 ? Extents{full[0], full[1], full[2]} : full, i32);
    add(0x63000000, full, i32);
  };
  auto refuse = [&](FmhaStatus status, const char *text) {
    EXPECT_EQ(launch(), status);
    EXPECT_THAT(fmhaLastError(), HasSubstr(text));
  };
  for (int64_t batch : {1, 2})
    for (int64_t heads : {1, 6}) {
      start({batch, heads, 3}, {batch, heads, 3, 2}, {batch, heads, 3, 0});
      EXPECT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
    }
  for (const Extents &counts : {Extents{3, 6, 3}, {2, 2, 3}, {2, 6, 2}}) {
    start(counts, {2, 6, 3, 2}, {2, 6, 3, 2});
    refuse(FMHA_ERROR_SHAPE, "tensor 'kv_num_blocks': expected the shape [2 or "
                             "1, 6 or 1, 3], got [");
    EXPECT_THAT(fmhaLastError(), HasSubstr("blocks of 128 rows"));
  }
  start({2, 1, 3}, {1, 1, 3, 2}, {2, 1, 3, 2});
  refuse(FMHA_ERROR_SHAPE, "tensor 'kv_indices': expected the shape [2, 1, 3, "
                           "2], got [1, 1, 3, 2]; it has the first extents of "
                           "kv_num_blocks");
  start({2, 1, 3}, {2, 1, 3, 2}, {2, 6, 3, 2});
  refuse(FMHA_ERROR_SHAPE, "tensor 'full_kv_num_blocks': expected the shape "
                           "[2, 1, 3], got [2, 6, 3]");
  start({2, 1, 3}, {2, 1, 3, 2}, {2, 1, 3, 2});
  tensors.back().shape[2] = 4;
  refuse(FMHA_ERROR_SHAPE, "tensor 'full_kv_indices': expected the shape [2, "
                           "1, 3, 2], got [2, 1, 4, 2]");
  start({2, 1, 3}, {2, 1, 3, 1 << 29}, {2, 1, 3, 2});
  refuse(FMHA_ERROR_SHAPE, "tensor 'kv_indices': expected less than 2^31 "
                           "elements, got 3221225472");
  start({2, 1, 3}, {2, 1, 3, 2}, {2, 1, 3, 2});
  tensors[6].strides[2] = 4;
  refuse(FMHA_ERROR_STRIDES, "tensor 'kv_indices': expected rows without gaps");
  start({2, 3}, {2, 1, 3, 2}, {2, 1, 3, 2});
  refuse(FMHA_ERROR_SHAPE, "tensor 'kv_num_blocks': expected [batch, heads, "
                           "row blocks], got 2 dimensions");
  start({2, 1, 3}, {2, 3, 2}, {2, 1, 3, 2});
  refuse(FMHA_ERROR_SHAPE, "tensor 'kv_indices': expected [batch, heads, row "
                           "blocks, entries], got 3 dimensions");
  start({2, 1, 3}, {2, 1, 3, 2}, {2, 1, 3, 2});
  tensors[5].dl.dtype = f32;
  refuse(FMHA_ERROR_DTYPE, "tensor 'kv_num_blocks': expected elements of type "
                           "int32, got float32");
}

// Kernels add the keys of a block to the position of a row (attention.C29).
TEST_F(RuntimeRefusal, LengthsOfTwoTo30WithBlocks) {
  load(blocksSample());
  constexpr int64_t most = (int64_t(1) << 30) - 512;
  for (int64_t kvLen : {most, most + 1}) {
    tensors.clear();
    addSample(1, 300, kvLen, 1, 1);
    // Keys and values have as many bytes as this, and half as many.
    constexpr uint64_t far = uint64_t(1) << 38;
    for (int n : {1, 2})
      tensors[n].dl.data = reinterpret_cast<void *>(n * far);
    for (int n = 0; n < 2; ++n) {
      add(0x60000000, {1, 1, 3}, i32);
      add(0x61000000, {1, 1, 3, 2}, i32);
    }
    EXPECT_EQ(launch(), kvLen > most ? FMHA_ERROR_SHAPE : FMHA_SUCCESS)
        << fmhaLastError();
  }
  EXPECT_THAT(fmhaLastError(), HasSubstr("tensor 'k': expected a length of at "
                                         "most 1073741312, got 1073741313"));
}

TEST_F(RuntimeRefusal, CapturesOfOtherTypesOrWithoutElements) {
  Json manifest = sample();
  manifest["captures"] = Json::parse(R"([{"element": "i8", "rank": 2}])");
  load(manifest);
  add(0x60000000, {6, 300}, f32);
  EXPECT_EQ(launch(), FMHA_ERROR_DTYPE);
  EXPECT_THAT(fmhaLastError(),
              HasSubstr("tensor 'capture0': expected elements of type int8"));
  tensors[5].dl.dtype = {kDLBool, 8, 1};
  EXPECT_EQ(launch(), FMHA_SUCCESS) << fmhaLastError();
  tensors[5].shape = {0, 1};
  EXPECT_EQ(launch(), FMHA_ERROR_SHAPE);
  EXPECT_THAT(fmhaLastError(), HasSubstr("expected extents from 1"));
}

TEST_F(RuntimeRefusal, WorkspacesThatDoNotFit) {
  Json manifest = sample();
  manifest["splits"] = 2;
  manifest["workspace"] = Json::array();
  for (const char *name : {"o_parts", "max_parts", "sum_parts"})
    manifest["workspace"].push_back(
        {{"tensor", name}, {"dtype", "f32"}, {"dims", Json::array()}});
  manifest["combine"] = {{"kernel", "second"},
                         {"block", {128, 1, 1}},
                         {"grid", sample()["grid"]},
                         {"parameters", Json::array()}};
  load(manifest);
  EXPECT_EQ(launch(reinterpret_cast<void *>(0x70000008)), FMHA_ERROR_WORKSPACE);
  EXPECT_THAT(fmhaLastError(), HasSubstr("an address 8 bytes past"));
  EXPECT_EQ(launch(reinterpret_cast<void *>(0x10000000)), FMHA_ERROR_OVERLAP);
  EXPECT_THAT(fmhaLastError(), HasSubstr("workspace: expected memory of its "
                                         "own, got bytes that tensor 'q'"));
  auto all = pointers();
  FmhaLaunchOptions options = {};
  options.struct_bytes = sizeof(options);
  options.workspace = reinterpret_cast<void *>(0x70000000);
  options.workspace_bytes = 1024;
  EXPECT_EQ(fmhaLaunchWith(module, all.data(), all.size(), &options),
            FMHA_ERROR_WORKSPACE);
  EXPECT_THAT(fmhaLastError(), HasSubstr("got 1024 bytes; ask"));
  options.struct_bytes = 8;
  EXPECT_EQ(fmhaLaunchWith(module, all.data(), all.size(), &options),
            FMHA_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(fmhaLastError(), HasSubstr("sizeof(FmhaLaunchOptions)"));
}

TEST_F(RuntimeRefusal, ModulesThatCannotBeLoaded) {
  FmhaModule other = nullptr;
  std::string manifest = sample().dump();
  EXPECT_EQ(fmhaModuleLoad(nullptr, 0, manifest.c_str(), &other),
            FMHA_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(fmhaLastError(), "image: expected an address, got NULL");
  EXPECT_EQ(fmhaModuleLoad("ptx", 3, "{\"mask\": ", &other),
            FMHA_ERROR_MANIFEST);
  EXPECT_THAT(fmhaLastError(),
              AllOf(StartsWith("manifest_json: malformed launch manifest: "
                               "expected JSON, got a parse error at line 1, "
                               "column 10: "),
                    EndsWith("; pass what fmha-compile --emit=manifest prints"),
                    Not(HasSubstr("json.exception"))));
  std::string deep = std::string(40, '[') + std::string(40, ']');
  EXPECT_EQ(fmhaModuleLoad("ptx", 3, deep.c_str(), &other),
            FMHA_ERROR_MANIFEST);
  EXPECT_THAT(fmhaLastError(),
              HasSubstr("expected JSON of at most 32 levels, got more"));
  Json wrong = sample();
  wrong["block"] = 3;
  EXPECT_EQ(fmhaModuleLoad("ptx", 3, wrong.dump().c_str(), &other),
            FMHA_ERROR_MANIFEST);
  EXPECT_THAT(fmhaLastError(), HasSubstr("manifest.block: expected an array"));
  wrong = sample();
  wrong["lse"] = false;
  EXPECT_EQ(fmhaModuleLoad("ptx", 3, wrong.dump().c_str(), &other),
            FMHA_ERROR_MANIFEST);
  EXPECT_THAT(fmhaLastError(),
              HasSubstr("expected a manifest that has the tensor 'lse'"));
  wrong = sample();
  wrong["key_vectors"] = true;
  EXPECT_EQ(fmhaModuleLoad("ptx", 3, wrong.dump().c_str(), &other),
            FMHA_ERROR_MANIFEST);
  EXPECT_THAT(fmhaLastError(),
              HasSubstr("got one for keys in vectors (key_vectors)"));
  EXPECT_EQ(fmhaModuleLoad("broken", 6, manifest.c_str(), &other),
            FMHA_ERROR_DRIVER);
  EXPECT_THAT(fmhaLastError(),
              HasSubstr("expected PTX text or a cubin, got 6 bytes that are "
                        "neither, which fail with STUB"));
  std::string other_id = "// fmha\n// id: 0123456789abcdef\n.target sm_90a\n";
  wrong = sample();
  wrong["id"] = "fedcba9876543210";
  EXPECT_EQ(fmhaModuleLoad(other_id.data(), other_id.size(),
                           wrong.dump().c_str(), &other),
            FMHA_ERROR_MANIFEST);
  EXPECT_STREQ(fmhaLastError(),
               "manifest_json: expected that of the kernel in image, whose "
               "heading has the id 0123456789abcdef, got one with the id "
               "fedcba9876543210; pass the manifest and the PTX of one "
               "compilation");
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(fmhaLaunch(nullptr, nullptr, 0, nullptr, nullptr),
            FMHA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fmhaModuleUnload(nullptr), FMHA_SUCCESS);
}

} // namespace
