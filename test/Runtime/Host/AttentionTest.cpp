//===- AttentionTest.cpp - Launching on the fake driver -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Attention.h"
#include "FakeDriver.h"
#include "fmha/Runtime/Files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <limits>
#include <random>

using namespace fmha::runtime;
using testing::HasSubstr;

namespace {

constexpr int64_t headDim = 64, headDimV = 32;

fake::Log &driverLog() {
  void *handle = dlopen(FMHA_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  auto get = reinterpret_cast<fake::Log *(*)()>(dlsym(handle, "fakeDriverLog"));
  return *get();
}

/// A problem with random inputs and room for its outputs.
struct Problem {
  std::vector<uint16_t> q, k, v, o;
  std::vector<float> lse;
  AttentionTensors tensors;

  Problem(int64_t batch, int64_t qHeads, int64_t kvHeads, int64_t qLen,
          int64_t kvLen, Layout layout, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    auto make = [&](std::vector<uint16_t> &bits, std::array<int64_t, 4> dims) {
      bits.resize(dims[0] * dims[1] * dims[2] * dims[3]);
      for (uint16_t &one : bits)
        one = toBFloat16(normal(random));
      return Tensor4{bits.data(), dims, denseStrides(dims, layout),
                     ElementType::BF16};
    };
    tensors.q = make(q, {batch, qLen, qHeads, headDim});
    tensors.k = make(k, {batch, kvLen, kvHeads, headDim});
    tensors.v = make(v, {batch, kvLen, kvHeads, headDimV});
    tensors.o = make(o, {batch, qLen, qHeads, headDimV});
    lse.resize(batch * qHeads * qLen);
    std::array<int64_t, 4> dims = {batch, qLen, qHeads, 1};
    tensors.lse = Tensor4{lse.data(), dims, denseStrides(dims, Layout::BHSD),
                          ElementType::F32};
  }

  static double at(const Tensor4 &t, int64_t b, int64_t l, int64_t h,
                   int64_t d) {
    int64_t index = b * t.strides[0] + l * t.strides[1] + h * t.strides[2] + d;
    return loadElement(t.dtype,
                       static_cast<char *>(t.host) + index * sizeOf(t.dtype));
  }

  /// Compares every output with float64 attention.
  void expectRight() const {
    const auto &q = tensors.q.dims, &k = tensors.k.dims;
    for (int64_t b = 0; b < q[0]; ++b)
      for (int64_t h = 0; h < q[2]; ++h)
        for (int64_t i = 0; i < q[1]; ++i)
          expectRow(b, h, i, h * k[2] / q[2]);
  }

  void expectRow(int64_t b, int64_t h, int64_t i, int64_t kvHead) const {
    int64_t kvLen = tensors.k.dims[1];
    std::vector<double> scores(kvLen);
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < kvLen; ++j) {
      for (int64_t d = 0; d < headDim; ++d)
        scores[j] +=
            at(tensors.q, b, i, h, d) * at(tensors.k, b, j, kvHead, d) / 8;
      top = std::max(top, scores[j]);
    }
    for (double &score : scores)
      sum += score = std::exp(score - top);
    double want = kvLen ? top + std::log(sum) : -INFINITY;
    float got = float(at(*tensors.lse, b, i, h, 0));
    EXPECT_TRUE(want == got || std::fabs(want - got) < 1e-4) << want << got;
    for (int64_t d = 0; d < headDimV; ++d) {
      double out = 0;
      for (int64_t j = 0; j < kvLen; ++j)
        out += scores[j] / sum * at(tensors.v, b, j, kvHead, d);
      ASSERT_NEAR(at(tensors.o, b, i, h, d), out, 0.01 * std::fabs(out) + 1e-4);
    }
  }
};

class Attention : public testing::Test {
protected:
  void SetUp() override {
    unsetenv("FAKE_DRIVER_CC");
    driverLog().pending = 0;
    driverLog().launches = 0;
    auto text = readFile(FMHA_TEST_DATA "/runtime/attention.json");
    ASSERT_TRUE(bool(text));
    auto parsed = parseManifest(*text);
    ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
    manifest = std::move(*parsed);
  }

  static llvm::Expected<std::unique_ptr<Device>> open() {
    return Device::open({DeviceKind::Cuda, "sm_100a", FMHA_FAKE_DRIVER});
  }

  LaunchReport run(Problem &problem, const std::string &ptx = "attention",
                   const RunOptions &options = {}) {
    auto device = open();
    EXPECT_TRUE(bool(device)) << llvm::toString(device.takeError());
    auto report =
        runAttention(manifest, ptx, **device, problem.tensors, options);
    EXPECT_TRUE(bool(report)) << llvm::toString(report.takeError());
    return std::move(*report);
  }

  std::string problemOf(Problem &problem) {
    auto device = open();
    auto report = runAttention(manifest, "attention", **device, problem.tensors,
                               RunOptions());
    return report ? "" : llvm::toString(report.takeError());
  }

  Manifest manifest;
};

TEST_F(Attention, IsRightInBothLayoutsWithAndWithoutPadding) {
  for (Layout layout : {Layout::BSHD, Layout::BHSD})
    for (const Padding &padding :
         {Padding(), Padding::none(), Padding{16, 3, 5}, Padding{0, 1, 0}}) {
      Problem problem(2, 6, 2, 5, 7, layout);
      LaunchReport report = run(problem, "attention", {.padding = padding});
      EXPECT_EQ(report.status, LaunchReport::Status::Ok);
      EXPECT_TRUE(report.launched);
      EXPECT_FALSE(report.warpInstructions);
      problem.expectRight();
    }
}

TEST_F(Attention, LoadsAKernelOnceForEachDevice) {
  auto device = open();
  ASSERT_TRUE(bool(device)) << llvm::toString(device.takeError());
  int before = driverLog().modules;
  for (int launches : {1, 2}) {
    Problem problem(1, 2, 1, 3, 5, Layout::BSHD);
    auto report = runAttention(manifest, "attention", **device, problem.tensors,
                               RunOptions());
    ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
    problem.expectRight();
    EXPECT_EQ(driverLog().modules, before + 1);
    EXPECT_EQ(driverLog().launches, launches);
  }
  device->reset();
  EXPECT_EQ(driverLog().modules, before);
}

TEST_F(Attention, HonorsStridesOfTheHost) {
  Problem dense(2, 2, 1, 3, 4, Layout::BSHD);
  // The same q, every row followed by 8 elements of NaN.
  std::vector<uint16_t> wide(2 * 3 * 2 * (headDim + 8), 0xffff);
  for (size_t row = 0; row < 12; ++row)
    std::copy_n(&dense.q[row * headDim], headDim, &wide[row * (headDim + 8)]);
  Tensor4 &q = dense.tensors.q;
  q.host = wide.data();
  for (int i = 0; i < 3; ++i)
    q.strides[i] = q.strides[i] / headDim * (headDim + 8);
  run(dense);
  dense.expectRight();
}

TEST_F(Attention, VInKIsReadFromTheMemoryOfK) {
  for (Layout layout : {Layout::BSHD, Layout::BHSD}) {
    Problem problem(2, 4, 2, 3, 5, layout);
    manifest.vInK = true;
    EXPECT_THAT(problemOf(problem),
                HasSubstr("tensor 'v': expected the first columns of tensor "
                          "'k'"));
    problem.tensors.v = problem.tensors.k;
    problem.tensors.v.dims[3] = headDimV;
    run(problem);
    problem.expectRight();
    problem.tensors.v.strides[1] *= 2;
    EXPECT_THAT(problemOf(problem), HasSubstr("with its strides"));
  }
  EXPECT_EQ(driverLog().allocations, 0);
}

TEST_F(Attention, PassesTheManifestsLaunchOn) {
  Problem problem(3, 4, 4, 300, 1, Layout::BSHD);
  LaunchReport report = run(problem);
  const fake::Log &seen = driverLog();
  EXPECT_EQ(seen.entry, "fmha_fwd");
  EXPECT_EQ(seen.grid, (std::array<uint32_t, 3>{2 * 4 * 3, 1, 1}));
  EXPECT_EQ(report.grid, seen.grid);
  EXPECT_EQ(seen.block, (std::array<uint32_t, 3>{512, 1, 1}));
  EXPECT_EQ(seen.allowedSmem, 230400);
  EXPECT_EQ(seen.launchSmem, 230400u);
  // CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 of cuda.h.
  EXPECT_THAT(seen.mapTypes, testing::Each(9));
}

/// The map of a tensor of sequences begins as many rows before the tensor as it
/// has, and has one end more than rows (include/fmha/Runtime/README.md).
TEST_F(Attention, MapsOfSequencesHaveAFifthDimension) {
  Problem problem(2, 1, 1, 3, 5, Layout::BSHD);
  driverLog().maps.clear();
  run(problem);
  auto plain = driverLog().maps;
  for (Parameter &parameter : manifest.parameters)
    parameter.sequences = parameter.kind == Parameter::Kind::TensorMap &&
                          parameter.tensor == TensorName::K;
  manifest.kvLens = true;
  EXPECT_THAT(problemOf(problem),
              HasSubstr("expected kv_lens, which the kernel "
                        "was compiled to read, got none"));
  problem.tensors.kvLens = {1, 5};
  driverLog().maps.clear();
  // The fake kernel, which knows no lists, finds K where the map says.
  EXPECT_EQ(problemOf(problem), "");
  problem.expectRight();
  auto maps = driverLog().maps;
  ASSERT_EQ(maps.size(), plain.size());
  EXPECT_THAT(maps[1].dims, testing::ElementsAre(64, 5, 1, 2, 6));
  EXPECT_EQ(maps[1].strides[3], maps[1].strides[0]);
  EXPECT_EQ(maps[1].strides[0], plain[1].strides[0]);
  EXPECT_EQ(plain[1].dims[4], 0u);
  manifest.kvLens = false;
  EXPECT_THAT(problemOf(problem),
              HasSubstr("got one compiled without; compile with --kv-lens"));
}

/// Heads that share tiles are a dimension of their own, ahead of the rows, and
/// groups of them another one; packed rows end in place of the batch.
TEST_F(Attention, MapsOfPackedHeadsSplitThem) {
  Problem problem(1, 6, 2, 3, 5, Layout::BSHD);
  driverLog().maps.clear();
  run(problem);
  auto plain = driverLog().maps;
  for (Parameter &parameter : manifest.parameters)
    if (parameter.kind == Parameter::Kind::TensorMap &&
        parameter.tensor == TensorName::Q) {
      parameter.dims = {MapDim::HeadDim, MapDim::Group, MapDim::QLen,
                        MapDim::KvHeads};
      parameter.box = {64, 4, 32, 1};
      parameter.sequences = true;
    }
  driverLog().maps.clear();
  // The fake kernel that attends does not understand such a map.
  run(problem, "silent");
  auto maps = driverLog().maps;
  ASSERT_EQ(maps.size(), plain.size());
  EXPECT_THAT(maps[0].dims, testing::ElementsAre(64, 3, 3, 2, 4));
  uint64_t head = plain[0].strides[1], row = plain[0].strides[0];
  EXPECT_THAT(maps[0].strides, testing::ElementsAre(head, row, 3 * head, row));
}

TEST_F(Attention, FreesEverything) {
  {
    Problem problem(1, 1, 1, 2, 2, Layout::BSHD);
    run(problem);
  }
  EXPECT_EQ(driverLog().allocations, 0);
  EXPECT_EQ(driverLog().modules, 0);
  EXPECT_EQ(driverLog().contexts, 0);
}

TEST_F(Attention, EmptyGridsAreNotLaunchedAndEmptyKeysAre) {
  for (auto [batch, qLen] : {std::pair(0, 5), {2, 0}}) {
    Problem problem(batch, 2, 2, qLen, 3, Layout::BSHD);
    LaunchReport report = run(problem);
    EXPECT_FALSE(report.launched);
    EXPECT_EQ(driverLog().launches, 0);
  }
  Problem problem(2, 2, 2, 3, 0, Layout::BSHD);
  EXPECT_TRUE(run(problem).launched);
  problem.expectRight();
}

TEST_F(Attention, OutputsThatNobodyWritesAreNaN) {
  Problem problem(1, 1, 1, 4, 4, Layout::BSHD);
  EXPECT_EQ(run(problem, "silent").status, LaunchReport::Status::Ok);
  for (uint16_t bits : problem.o)
    EXPECT_TRUE(std::isnan(fromBFloat16(bits)));
  for (float value : problem.lse)
    EXPECT_TRUE(std::isnan(value));
}

TEST_F(Attention, WritesOutsideATensorAreFound) {
  for (int64_t qLen : {1, 4}) {
    Problem problem(1, 1, 1, qLen, 4, Layout::BHSD);
    LaunchReport report = run(problem, "overrun");
    EXPECT_EQ(report.status, LaunchReport::Status::Findings);
    ASSERT_EQ(report.findings.size(), 1u);
    const llvm::json::Object &finding = *report.findings[0].getAsObject();
    EXPECT_EQ(finding.getString("id"), "host.write-outside-tensor");
    EXPECT_THAT(finding.getString("message")->str(),
                HasSubstr("wrote 16 bytes before, between or after the "
                          "elements of 'o'"));
  }
}

TEST_F(Attention, FaultsAreFindingsOfTheReport) {
  Problem problem(1, 1, 1, 4, 4, Layout::BSHD);
  LaunchReport report = run(problem, "fault");
  EXPECT_EQ(report.status, LaunchReport::Status::Findings);
  EXPECT_THAT(report.driverError, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_EQ(report.findings.size(), 1u);
}

TEST_F(Attention, LseThatIsNotAskedForIsKeptAway) {
  Problem problem(1, 2, 1, 4, 4, Layout::BSHD);
  problem.tensors.lse.reset();
  run(problem);
  problem.tensors.lse =
      Tensor4{problem.lse.data(), {1, 4, 2, 1}, {8, 1, 4, 1}, ElementType::F32};
  EXPECT_THAT(problem.lse, testing::Each(0.0f));
}

TEST_F(Attention, SaysWhichShapeIsWrong) {
  Problem heads(1, 3, 2, 4, 4, Layout::BSHD);
  EXPECT_THAT(
      problemOf(heads),
      HasSubstr("multiple of the KV heads, got 3 query heads and 2 KV"));
  Problem keys(2, 2, 2, 4, 4, Layout::BSHD);
  keys.tensors.v.dims[1] = 5;
  EXPECT_THAT(problemOf(keys), HasSubstr("tensor 'v' ([batch, length, heads, "
                                         "dim]): expected the shape [2, 4, 2, "
                                         "32], got [2, 5, 2, 32]"));
  Problem dim(1, 1, 1, 4, 4, Layout::BSHD);
  dim.tensors.q.dims[3] = 32;
  EXPECT_THAT(problemOf(dim), HasSubstr("[1, 4, 1, 64], got [1, 4, 1, 32]"));
  Problem type(1, 1, 1, 4, 4, Layout::BSHD);
  type.tensors.k.dtype = ElementType::F16;
  EXPECT_THAT(problemOf(type), HasSubstr("'k': expected elements of type bf16, "
                                         "got f16"));
  Problem lse(1, 1, 1, 4, 4, Layout::BSHD);
  manifest.lse = false;
  EXPECT_THAT(problemOf(lse), HasSubstr("compile with --lse"));
}

TEST_F(Attention, SaysWhichStrideIsMisaligned) {
  Problem stride(2, 2, 2, 4, 4, Layout::BSHD);
  stride.tensors.k.strides[1] += 4;
  EXPECT_THAT(
      problemOf(stride),
      HasSubstr("tensor 'k', dimension 'length': TMA wants a stride that "
                "is a multiple of 16 bytes and not negative, got 264 "
                "bytes (132 elements)"));
  Problem base(2, 2, 2, 4, 4, Layout::BSHD);
  base.tensors.o.host = base.o.data() + 1;
  EXPECT_THAT(problemOf(base), HasSubstr("tensor 'o': TMA wants a base address "
                                         "that is a multiple of 16 bytes, got "
                                         "one 2 bytes past"));
  Problem inner(2, 2, 2, 4, 4, Layout::BSHD);
  inner.tensors.v.strides[3] = 2;
  EXPECT_THAT(problemOf(inner), HasSubstr("'dim' to be contiguous"));
  // A dimension of one element has no stride that matters.
  Problem single(1, 2, 2, 4, 4, Layout::BSHD);
  single.tensors.k.strides[0] = 3;
  EXPECT_EQ(problemOf(single), "");
}

TEST_F(Attention, LengthsThat32BitsCannotCountAreRefused) {
  constexpr int64_t most = (int64_t(1) << 31) - 512;
  // No batch: nothing is allocated.
  auto said = [&](int64_t qLen, int64_t kvLen) {
    Problem problem(0, 2, 2, qLen, kvLen, Layout::BSHD);
    return llvm::toString(checkProblem(manifest, problem.tensors));
  };
  EXPECT_EQ(said(most, most), "");
  EXPECT_THAT(said(most + 1, 3),
              HasSubstr("q_len: expected a length of at most 2147483136 (2^31 "
                        "- 512), got 2147483137"));
  EXPECT_THAT(said(3, most + 1),
              HasSubstr("kv_len: expected a length of at most 2147483136 (2^31 "
                        "- 512), got 2147483137"));
}

TEST_F(Attention, GridsBeyondTheHardwareAreRefusedBeforeAnythingIsAllocated) {
  Problem problem(1, 1, 1, 1, 0, Layout::BSHD);
  // Strides of 0: the whole batch is one row.
  for (Tensor4 *tensor : {&problem.tensors.q, &problem.tensors.o})
    tensor->dims[0] = int64_t(1) << 31, tensor->strides[0] = 0;
  problem.tensors.k.dims[0] = problem.tensors.v.dims[0] = int64_t(1) << 31;
  problem.tensors.lse.reset();
  EXPECT_THAT(problemOf(problem),
              HasSubstr("expected a grid extent x of at most 2147483647, got "
                        "2147483648 = ceil(q_len 1 / 256) * q_heads 1 * batch "
                        "2147483648"));
}

TEST_F(Attention, OutputsMustHaveMemoryOfTheirOwn) {
  Problem query(1, 2, 2, 4, 4, Layout::BSHD);
  query.tensors.o = query.tensors.q;
  query.tensors.o.dims[3] = headDimV;
  EXPECT_THAT(problemOf(query),
              HasSubstr("tensor 'o': expected memory of its own, got bytes "
                        "that tensor 'q' has too"));
  Problem end(1, 2, 2, 4, 4, Layout::BSHD);
  end.tensors.o.host = end.v.data() + end.v.size() - 8;
  EXPECT_THAT(problemOf(end), HasSubstr("that tensor 'v' has too"));
  Problem sums(1, 2, 2, 4, 4, Layout::BSHD);
  sums.tensors.lse->host = sums.o.data() + sums.o.size() - 2;
  EXPECT_THAT(problemOf(sums), HasSubstr("'lse': expected memory of its own"));
  // Inputs may share theirs, and outputs without elements share nothing.
  Problem keys(1, 2, 2, 4, 4, Layout::BSHD);
  keys.tensors.k = keys.tensors.q;
  EXPECT_EQ(problemOf(keys), "");
  Problem empty(0, 2, 2, 4, 4, Layout::BSHD);
  empty.tensors.o.host = empty.tensors.q.host;
  EXPECT_EQ(problemOf(empty), "");
}

TEST_F(Attention, SlicesOfOnePackedArrayAreApart) {
  constexpr int64_t length = 5, heads = 2, step = 4 * heads * headDim;
  std::vector<uint16_t> packed(2 * length * step);
  Problem problem(2, heads, heads, length, length, Layout::BSHD);
  auto slice = [&](int64_t which, int64_t dim) {
    return Tensor4{packed.data() + which * heads * headDim,
                   {2, length, heads, dim},
                   {length * step, step, headDim, 1},
                   ElementType::BF16};
  };
  problem.tensors.q = slice(0, headDim);
  problem.tensors.k = slice(1, headDim);
  problem.tensors.v = slice(2, headDimV);
  problem.tensors.o = slice(3, headDimV);
  EXPECT_EQ(problemOf(problem), "");
  // The output begins in the last head of v.
  problem.tensors.o.host = packed.data() + 3 * heads * headDim - headDim;
  EXPECT_THAT(problemOf(problem), HasSubstr("that tensor 'v' has too"));
}

TEST_F(Attention, MalformedKernelsAreErrors) {
  Problem problem(1, 1, 1, 4, 4, Layout::BSHD);
  auto device = open();
  auto report = runAttention(manifest, "malformed", **device, problem.tensors,
                             RunOptions());
  ASSERT_FALSE(bool(report));
  EXPECT_THAT(llvm::toString(report.takeError()),
              HasSubstr("loading the PTX failed"));
}

TEST(DeviceTest, SaysWhenTheGpuCannotRunTheTarget) {
  setenv("FAKE_DRIVER_CC", "90", 1);
  auto device = Device::open({DeviceKind::Cuda, "sm_100a", FMHA_FAKE_DRIVER});
  unsetenv("FAKE_DRIVER_CC");
  ASSERT_FALSE(bool(device));
  EXPECT_EQ(llvm::toString(device.takeError()),
            "the GPU found cannot run sm_100a: expected compute capability "
            "10.0, got 'Fake GPU' of 9.0; pass the target of this GPU, or run "
            "on the simulator with --device=sim");
}

TEST(DeviceTest, SaysWhenThereIsNoLibraryNoSymbolOrNoGpu) {
  auto missing = Device::open({DeviceKind::Cuda, "sm_100a", "/no/lib.so"});
  ASSERT_FALSE(bool(missing));
  EXPECT_THAT(llvm::toString(missing.takeError()),
              testing::AllOf(HasSubstr("cannot load '/no/lib.so'"),
                             HasSubstr("--device=sim")));
  auto wrong = Device::open({DeviceKind::Simulator, "sm_100a", "libc.so.6"});
  ASSERT_FALSE(bool(wrong));
  EXPECT_THAT(llvm::toString(wrong.takeError()),
              HasSubstr("expected it to export cuInit"));
  setenv("FAKE_DRIVER_CC", "0", 1);
  auto none = Device::open({DeviceKind::Cuda, "sm_100a", FMHA_FAKE_DRIVER});
  unsetenv("FAKE_DRIVER_CC");
  ASSERT_FALSE(bool(none));
  EXPECT_THAT(llvm::toString(none.takeError()), HasSubstr("finds no GPU"));
}

TEST(DeviceTest, TargetsRunWhereTheManualSays) {
  EXPECT_TRUE(targetRunsOn("sm_100a", 10, 0));
  EXPECT_FALSE(targetRunsOn("sm_100a", 10, 3));
  EXPECT_TRUE(targetRunsOn("sm_100f", 10, 3));
  EXPECT_FALSE(targetRunsOn("sm_100f", 12, 0));
  EXPECT_FALSE(targetRunsOn("sm_103f", 10, 0));
  EXPECT_TRUE(targetRunsOn("sm_80", 9, 0));
  EXPECT_FALSE(targetRunsOn("sm_90", 8, 9));
  EXPECT_FALSE(targetRunsOn("sm_100b", 10, 0));
  EXPECT_FALSE(targetRunsOn("gfx90a", 9, 0));
  EXPECT_FALSE(targetRunsOn("", 9, 0));
}

} // namespace
