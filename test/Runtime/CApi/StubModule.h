//===- StubModule.h - Modules on a driver that does nothing -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_RUNTIME_CAPI_STUBMODULE_H
#define FMHA_TEST_RUNTIME_CAPI_STUBMODULE_H

#include "fmha-c/Runtime.h"

#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace stub {

using Json = nlohmann::json;

/// The manifest of the test data: bf16, head dim 64, of V 32, with LSE.
inline Json sample() {
  std::ifstream file(FMHA_TEST_DATA "/runtime/attention.json");
  return Json::parse(file);
}

/// The sample on paged caches with 16 keys per page. The tensor maps have one
/// more dimension, for the ends of sequences. The last parameters are max_pages
/// and pages.
inline Json pagedSample() {
  Json manifest = sample();
  manifest["kv_lens"] = manifest["block_tables"] = true;
  manifest["page_size"] = 16;
  for (int n : {1, 2}) {
    Json &map = manifest["parameters"][n];
    map["dims"][1] = "page_size";
    map["dims"][3] = "pages";
    map["box"][1] = 16;
    map["sequences"] = true;
  }
  for (const char *value : {"max_pages", "pages"})
    manifest["parameters"].push_back(
        {{"name", value}, {"kind", "u32"}, {"value", value}});
  return manifest;
}

/// What the stub counts.
inline unsigned long count(const char *name) {
  static void *library = dlopen(FMHA_STUB_DRIVER, RTLD_NOW);
  return reinterpret_cast<unsigned long (*)()>(dlsym(library, name))();
}
inline void watch(void (*watcher)(const void *, void **)) {
  static void *library = dlopen(FMHA_STUB_DRIVER, RTLD_NOW);
  reinterpret_cast<void (*)(void (*)(const void *, void **))>(
      dlsym(library, "stubWatch"))(watcher);
}

/// A tensor of the stub's memory, whose address is a mere number.
struct Tensor {
  std::vector<int64_t> shape, strides;
  DLTensor dl = {};

  Tensor(uint64_t address, std::vector<int64_t> extents, DLDataType type)
      : shape(std::move(extents)), strides(shape.size()) {
    int64_t step = 1;
    for (size_t d = shape.size(); d-- > 0; step *= shape[d])
      strides[d] = step;
    dl.data = reinterpret_cast<void *>(address);
    dl.device = {kDLCUDA, 0};
    dl.dtype = type;
  }
  const DLTensor *get() {
    dl.ndim = int32_t(shape.size());
    dl.shape = shape.data();
    dl.strides = strides.data();
    return &dl;
  }
};

constexpr DLDataType bf16 = {kDLBfloat, 16, 1}, f32 = {kDLFloat, 32, 1},
                     i32 = {kDLInt, 32, 1};

/// Loads a module on the stub, and has tensors for the sample's kernel.
class Launch : public testing::Test {
protected:
  static void SetUpTestSuite() { setenv("FMHA_DRIVER", FMHA_STUB_DRIVER, 1); }
  void TearDown() override {
    watch(nullptr);
    EXPECT_EQ(fmhaModuleUnload(module), FMHA_SUCCESS);
  }
  void load(const Json &manifest) {
    ASSERT_EQ(fmhaModuleUnload(module), FMHA_SUCCESS);
    module = nullptr;
    ASSERT_EQ(fmhaModuleLoad("ptx", 3, manifest.dump().c_str(), &module),
              FMHA_SUCCESS)
        << fmhaLastError();
  }
  Tensor &add(uint64_t address, std::vector<int64_t> shape, DLDataType type) {
    tensors.push_back({address, std::move(shape), type});
    return tensors.back();
  }
  void addSample(int64_t batch = 2, int64_t qLen = 300, int64_t kvLen = 77,
                 int64_t qHeads = 6, int64_t kvHeads = 2) {
    add(0x10000000, {batch, qLen, qHeads, 64}, bf16);
    add(0x20000000, {batch, kvLen, kvHeads, 64}, bf16);
    add(0x30000000, {batch, kvLen, kvHeads, 32}, bf16);
    add(0x40000000, {batch, qLen, qHeads, 32}, bf16);
    add(0x50000000, {batch, qHeads, qLen}, f32);
  }
  /// Two sequences of at most 5 pages in caches of 9.
  void addPagedSample() {
    addSample();
    tensors[1].shape = {9, 16, 2, 64};
    tensors[2].shape = {9, 16, 2, 32};
    tensors[1].strides = {16 * 2 * 64, 2 * 64, 64, 1};
    tensors[2].strides = {16 * 2 * 32, 2 * 32, 32, 1};
    add(0x60000000, {2}, i32);
    add(0x60001000, {2, 5}, i32);
  }
  std::vector<const DLTensor *> pointers() {
    std::vector<const DLTensor *> all;
    for (Tensor &tensor : tensors)
      all.push_back(tensor.get());
    return all;
  }
  FmhaStatus launch(void *workspace = nullptr) {
    auto all = pointers();
    return fmhaLaunch(module, all.data(), all.size(), workspace, nullptr);
  }

  FmhaModule module = nullptr;
  std::deque<Tensor> tensors;
};

} // namespace stub

#endif // FMHA_TEST_RUNTIME_CAPI_STUBMODULE_H
