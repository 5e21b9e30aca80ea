//===- DeviceMemoryTest.cpp - Memory that is kept for later results -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Driver/DeviceMemory.h"

#include "gtest/gtest.h"

#include <set>

using namespace fmha::runtime::driver;

namespace {

/// What the driver has given out, and how much it has.
struct Held {
  std::set<DevicePointer> blocks;
  DevicePointer next = 1 << 20;
  size_t most = 100, calls = 0;
} held;

Result allocate(DevicePointer *address, size_t bytes) {
  ++held.calls;
  if (held.blocks.size() == held.most)
    return Result(2);
  *address = held.next;
  held.next += bytes;
  held.blocks.insert(*address);
  return Result(0);
}

Result release(DevicePointer address) {
  ++held.calls;
  return Result(held.blocks.erase(address) ? 0 : 1);
}

Calls driver(bool isSimulator = false) {
  held = Held();
  Calls calls;
  calls.memAlloc = allocate;
  calls.memFree = release;
  if (isSimulator) {
    calls.setOption = [](const char *, const char *) { return Result(0); };
    calls.lastReport = [] { return ""; };
  }
  return calls;
}

DevicePointer take(DeviceMemory &memory, uint64_t bytes, uint64_t stream = 0,
                   int device = 0) {
  DevicePointer address = 0;
  EXPECT_EQ(memory.take(bytes, device, stream, address), Result(0));
  return address;
}

} // namespace

TEST(DeviceMemory, ServesAStreamAgainWithoutTheDriver) {
  Calls calls = driver();
  DeviceMemory memory(calls);
  DevicePointer first = take(memory, 5000);
  memory.giveBack(first);
  size_t before = held.calls;
  EXPECT_EQ(take(memory, 4900), first);
  EXPECT_EQ(held.calls, before);
  // The block is taken.
  EXPECT_NE(take(memory, 5000), first);
}

TEST(DeviceMemory, IsOfOneStreamAndDevice) {
  Calls calls = driver();
  DeviceMemory memory(calls);
  DevicePointer first = take(memory, 5000, /*stream=*/7);
  memory.giveBack(first);
  EXPECT_NE(take(memory, 5000, /*stream=*/8), first);
  EXPECT_NE(take(memory, 5000, /*stream=*/7, /*device=*/1), first);
  EXPECT_NE(take(memory, 1 << 20, /*stream=*/7), first);
  EXPECT_EQ(take(memory, 5000, /*stream=*/7), first);
}

TEST(DeviceMemory, FreesWhatIsKeptWhereTheDriverHasNoMore) {
  Calls calls = driver();
  DeviceMemory memory(calls);
  held.most = 1;
  memory.giveBack(take(memory, 100));
  DevicePointer large = take(memory, 1 << 20);
  EXPECT_EQ(held.blocks, std::set<DevicePointer>{large});
  DevicePointer none = 0;
  EXPECT_EQ(memory.take(100, 0, 0, none), Result(2));
}

TEST(DeviceMemory, KeepsAtMostAGigabyte) {
  Calls calls = driver();
  DeviceMemory memory(calls);
  DevicePointer blocks[] = {take(memory, 600 << 20), take(memory, 600 << 20)};
  for (DevicePointer block : blocks)
    memory.giveBack(block);
  // The block that was kept first is free.
  EXPECT_EQ(held.blocks, std::set<DevicePointer>{blocks[1]});
  EXPECT_EQ(take(memory, 600 << 20), blocks[1]);
}

TEST(DeviceMemory, KeepsNothingOfTheStreamOfEachThread) {
  Calls calls = driver();
  DeviceMemory memory(calls);
  memory.giveBack(take(memory, 100, /*stream=*/2));
  EXPECT_TRUE(held.blocks.empty());
}

TEST(DeviceMemory, KeepsNothingInTheSimulator) {
  Calls calls = driver(/*isSimulator=*/true);
  DeviceMemory memory(calls);
  memory.giveBack(take(memory, 0));
  EXPECT_TRUE(held.blocks.empty());
}
