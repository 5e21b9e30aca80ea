//===- CacheTest.cpp - Tensor maps are encoded once -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StubModule.h"

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <thread>

using namespace stub;

namespace {

std::atomic<unsigned long> allocations;

} // namespace

/// Counts what this program and the libraries that it loads allocate.
// Not inlined, so that g++ sees a pair.
[[gnu::noinline]] void *operator new(size_t bytes) {
  ++allocations;
  void *memory = std::malloc(bytes ? bytes : 1);
  if (!memory)
    std::abort();
  return memory;
}
[[gnu::noinline]] void operator delete(void *memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept {
  std::free(memory);
}

namespace {

class RuntimeCache : public Launch {};

/// The calls of the driver that a test looks at.
struct Calls {
  unsigned long launches = count("stubLaunches"),
                encodings = count("stubEncodings"),
                contexts = count("stubContexts"), others = count("stubOthers");

  Calls operator-(const Calls &before) const {
    Calls made = *this;
    made.launches -= before.launches;
    made.encodings -= before.encodings;
    made.contexts -= before.contexts;
    made.others -= before.others;
    return made;
  }
  bool operator==(const Calls &) const = default;
};

Calls calls(unsigned long launches, unsigned long encodings,
            unsigned long contexts) {
  Calls wanted;
  wanted.launches = launches;
  wanted.encodings = encodings;
  wanted.contexts = contexts;
  wanted.others = 0;
  return wanted;
}

void PrintTo(const Calls &calls, std::ostream *out) {
  *out << calls.launches << " launches, " << calls.encodings << " encodings, "
       << calls.contexts << " of contexts, " << calls.others << " others";
}

/// A warm launch asks the driver for itself, and for nothing that allocates,
/// waits or could not be captured into a graph.
TEST_F(RuntimeCache, AWarmLaunchIsOneCall) {
  load(sample());
  addSample();
  ASSERT_EQ(launch(), FMHA_SUCCESS);
  Calls before;
  for (int n = 0; n < 100; ++n)
    ASSERT_EQ(launch(), FMHA_SUCCESS);
  EXPECT_EQ(Calls() - before, calls(100, 0, 0));
}

/// Nor do launches that take turns with as many others as there are layers.
TEST_F(RuntimeCache, LaunchesThatTakeTurnsStayWarm) {
  load(sample());
  addSample();
  auto round = [&] {
    for (uint64_t layer = 0; layer < 80; ++layer) {
      tensors[1].dl.data = reinterpret_cast<void *>(0x80000000 + layer * 81920);
      tensors[2].dl.data = reinterpret_cast<void *>(0xa0000000 + layer * 81920);
      ASSERT_EQ(launch(), FMHA_SUCCESS);
    }
  };
  round();
  Calls before;
  round();
  EXPECT_EQ(Calls() - before, calls(80, 0, 0));
}

/// A new tensor is one encoding and a question for the context.
TEST_F(RuntimeCache, ANewAddressIsEncoded) {
  load(sample());
  addSample();
  ASSERT_EQ(launch(), FMHA_SUCCESS);
  Calls before;
  tensors[1].dl.data = reinterpret_cast<void *>(0x80000000);
  ASSERT_EQ(launch(), FMHA_SUCCESS);
  EXPECT_EQ(Calls() - before, calls(1, 1, 1));
}

void loseContext() {
  void *library = dlopen(FMHA_STUB_DRIVER, RTLD_NOW);
  reinterpret_cast<int (*)(void *)>(dlsym(library, "cuCtxSetCurrent"))(nullptr);
}

/// The first launch of a thread, and the first one after it has lost its
/// context, enter the context of the module.
TEST_F(RuntimeCache, AThreadWithoutContextGetsOne) {
  load(sample());
  addSample();
  ASSERT_EQ(launch(), FMHA_SUCCESS);
  Calls before;
  std::thread([&] {
    EXPECT_EQ(launch(), FMHA_SUCCESS);
    EXPECT_EQ(Calls() - before, calls(1, 0, 2));
    EXPECT_EQ(launch(), FMHA_SUCCESS);
    EXPECT_EQ(Calls() - before, calls(2, 0, 2));
    loseContext();
    EXPECT_EQ(launch(), FMHA_SUCCESS);
    EXPECT_EQ(Calls() - before, calls(3, 0, 5));
  }).join();
}

/// What a launch is refused for is refused after it was launched warm, too.
TEST_F(RuntimeCache, AWarmLaunchIsCheckedWhereItsTensorsChange) {
  load(sample());
  addSample();
  ASSERT_EQ(launch(), FMHA_SUCCESS);
  auto refuses = [&](FmhaStatus status, auto change) {
    std::deque<Tensor> kept = tensors;
    change();
    EXPECT_EQ(launch(), status);
    tensors = kept;
    EXPECT_EQ(launch(), FMHA_SUCCESS);
  };
  refuses(FMHA_ERROR_DEVICE, [&] { tensors[1].dl.device.device_id = 1; });
  refuses(FMHA_ERROR_DEVICE,
          [&] { tensors[1].dl.device.device_type = kDLCPU; });
  refuses(FMHA_ERROR_DTYPE, [&] { tensors[2].dl.dtype = {kDLFloat, 16, 1}; });
  refuses(FMHA_ERROR_DTYPE, [&] { tensors[2].dl.dtype.lanes = 2; });
  refuses(FMHA_ERROR_ALIGNMENT, [&] { tensors[0].dl.byte_offset = 2; });
  refuses(FMHA_ERROR_STRIDES, [&] { tensors[0].strides[3] = 2; });
  refuses(FMHA_ERROR_SHAPE, [&] { tensors[0].shape[0] = 3; });
  refuses(FMHA_ERROR_OVERLAP, [&] { tensors[3].dl.data = tensors[0].dl.data; });
}

/// Neither with cached maps nor with new ones.
TEST_F(RuntimeCache, ALaunchAllocatesNothing) {
  load(sample());
  addSample();
  auto all = pointers();
  unsigned long before = allocations;
  bool succeeded = true;
  for (uint64_t n = 0; n < 1000; ++n) {
    tensors[1].dl.data = reinterpret_cast<void *>(0x80000000 + 4096 * (n / 2));
    succeeded &= !fmhaLaunch(module, all.data(), all.size(), nullptr, nullptr);
  }
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(succeeded);
  // The text of an error does.
  fmhaLaunch(module, all.data(), 2, nullptr, nullptr);
  EXPECT_GT(allocations, before);
}

#if defined(__has_feature)
#define FMHA_INSTRUMENTED                                                      \
  (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define FMHA_INSTRUMENTED 1
#else
#define FMHA_INSTRUMENTED 0
#endif

// A sanitizer takes more time than a launch.
#if !FMHA_INSTRUMENTED
double processorTime() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e6 + double(time.tv_nsec) * 1e-3;
}

TEST_F(RuntimeCache, AWarmLaunchTakesAtMostFiveMicroseconds) {
  load(sample());
  addSample();
  auto all = pointers();
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    double begin = processorTime();
    for (int n = 0; n < 500; ++n)
      fmhaLaunch(module, all.data(), all.size(), nullptr, nullptr);
    best = std::min(best, (processorTime() - begin) / 500);
  }
  EXPECT_LE(best, 5.0);
}
#endif

uint64_t lastExtent, lastStride;

/// The same address with another shape, and then with other strides, gives
/// other maps; the first shape again gives the first map.
TEST_F(RuntimeCache, AnAddressThatIsUsedAgainHasItsOwnMap) {
  load(sample());
  watch([](const void *, void **parameters) {
    const auto *map = static_cast<const uint64_t *>(parameters[1]);
    lastExtent = map[2];
    lastStride = map[6];
  });
  for (int64_t kvLen : {77, 78, 77, 1000}) {
    tensors.clear();
    addSample(2, 300, kvLen);
    ASSERT_EQ(launch(), FMHA_SUCCESS);
    EXPECT_EQ(lastExtent, uint64_t(kvLen));
    EXPECT_EQ(lastStride, 2u * 64 * 2);
  }
  // [batch, heads, length, dim] in memory.
  tensors[1].strides = {2 * 1000 * 64, 64, 1000 * 64, 1};
  ASSERT_EQ(launch(), FMHA_SUCCESS);
  EXPECT_EQ(lastStride, 64u * 2);
}

/// More shapes than fit the cache are still launched correctly.
TEST_F(RuntimeCache, OldMapsGiveWay) {
  load(sample());
  addSample();
  watch([](const void *, void **parameters) {
    lastExtent = *static_cast<const uint64_t *>(parameters[1]);
  });
  for (int round = 0; round < 2; ++round)
    for (uint64_t n = 0; n < 1000; ++n) {
      tensors[1].dl.data = reinterpret_cast<void *>(0x80000000 + 4096 * n);
      ASSERT_EQ(launch(), FMHA_SUCCESS);
      ASSERT_EQ(lastExtent, 0x80000000 + 4096 * n);
    }
}

std::atomic<int> wrong;

/// Each thread launches with different shapes; o has the rows of q.
TEST_F(RuntimeCache, ThreadsLaunchOneModule) {
  load(sample());
  wrong = 0;
  watch([](const void *, void **parameters) {
    const auto *q = static_cast<const uint64_t *>(parameters[0]);
    const auto *o = static_cast<const uint64_t *>(parameters[3]);
    uint32_t length;
    std::memcpy(&length, parameters[8], 4);
    wrong += q[2] != length || o[2] != length || o[0] != q[0] + 0x30000000;
  });
  auto work = [&](int thread) {
    for (int n = 0; n < 2000; ++n) {
      int64_t length = 1 + (n * 7 + thread) % 500;
      Tensor q(0x10000000 + 4096 * (n % 97), {2, length, 6, 64}, bf16),
          k(0x20000000, {2, 77, 2, 64}, bf16),
          v(0x30000000, {2, 77, 2, 32}, bf16),
          o(0x40000000 + 4096 * (n % 97), {2, length, 6, 32}, bf16),
          lse(0x50000000, {2, 6, length}, f32);
      const DLTensor *all[] = {q.get(), k.get(), v.get(), o.get(), lse.get()};
      wrong += fmhaLaunch(module, all, 5, nullptr, nullptr) != FMHA_SUCCESS;
      // The message of a failure is this thread's own.
      lse.shape[2] = thread + 1000;
      lse.get();
      bool refused =
          fmhaLaunch(module, all, 5, nullptr, nullptr) == FMHA_ERROR_SHAPE;
      std::string text = "6, " + std::to_string(thread + 1000) + "]";
      wrong += !refused || !strstr(fmhaLastError(), text.c_str());
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back(work, thread);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace
