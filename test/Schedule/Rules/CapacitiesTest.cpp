//===- CapacitiesTest.cpp - Each capacity is exceeded once ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Rules/Capacities.h"

#include <gtest/gtest.h>

#include <functional>

using namespace fmha::schedule::capacities;

namespace {

/// Fills sm_100a to the last byte, column, register and named barrier.
Demand full() {
  Demand demand;
  demand.target = "sm_100a";
  demand.threads = 512;
  demand.tiles = {{Memory::Shared, "tile", 0, 232440, 1024, 1},
                  {Memory::Tensor, "scores", 384, 512, 1, 2}};
  demand.barriers = {{Memory::Shared, "barrier", 232440, 232448, 8, 3}};
  demand.allocations = {{512, 4}};
  demand.deallocations = {{512, 5}};
  demand.warps = {{"softmax", 0, 4, 200, 128, 6},
                  {"idle", 4, 8, 24, 128, 7},
                  {"correction", 8, 16, 144, 128, 8}};
  demand.namedBarriers = {{15, 9}};
  return demand;
}

/// What `change` makes check() say: all violations, or "fits".
std::string text(const std::function<void(Demand &)> &change) {
  Demand demand = full();
  change(demand);
  std::string all;
  for (const Violation &violation : check(demand))
    all += violation.text + "\n";
  return all.empty() ? "fits" : all;
}

void expect(const std::function<void(Demand &)> &change,
            const std::string &part) {
  std::string got = text(change);
  EXPECT_NE(got.find(part), std::string::npos) << got;
}

TEST(Capacities, AFullGpuFits) {
  EXPECT_EQ(text([](Demand &) {}), "fits");
}

TEST(Capacities, R1TensorMemoryIsAllocatedByAPowerOfTwo) {
  auto columns = [](unsigned count) {
    return [count](Demand &d) {
      d.allocations[0].count = d.deallocations[0].count = count;
    };
  };
  expect(columns(384),
         "resources.R1: expected an allocation of a power of two");
  expect(columns(16), "resources.R1: expected an allocation of a power of two");
  expect(columns(1024), "from 32 to 512 columns, got 1024");
}

TEST(Capacities, R1ItIsFreedAsItWasAllocatedAndOnce) {
  expect([](Demand &d) { d.deallocations[0].count = 256; },
         "resources.R1: expected to free the 512 columns");
  expect([](Demand &d) { d.deallocations.clear(); }, "expected tmem_dealloc");
  expect([](Demand &d) { d.allocations.push_back({32, 4}); },
         "resources.R1: expected one allocation of tensor memory, got 2");
}

TEST(Capacities, R2PlacesLieInsideTheirMemory) {
  expect([](Demand &d) { d.barriers[0].end += 8; }, "resources.R2: ");
  expect([](Demand &d) { d.barriers[0].end += 8; }, "(8 too many)");
  expect([](Demand &d) { d.tiles[1].end = 544; }, "(32 too many)");
  // Less is allocated than the target has.
  expect(
      [](Demand &d) {
        d.allocations[0].count = d.deallocations[0].count = 256;
      },
      "inside the 256 columns of tensor memory (256 too many)");
}

TEST(Capacities, R3PlacesAreAligned) {
  expect([](Demand &d) { d.tiles[0].begin = 512; },
         "resources.R3: expected tile [512, 232440) to begin at a multiple of "
         "1024");
}

TEST(Capacities, R4BarriersOverlapNothing) {
  expect([](Demand &d) { d.tiles[0].end += 4; }, "resources.R4: mbarriers");
  expect([](Demand &d) { d.barriers.push_back(d.barriers[0]); },
         "overlap barrier [232440, 232448) by 8 bytes");
}

TEST(Capacities, R5RegistersAreOfThePool) {
  expect([](Demand &d) { d.warps[0].registers = 208; },
         "resources.R5: the roles need 66560 registers, 65536 are available "
         "(1024 too "
         "many)");
  expect([](Demand &d) { d.warps[1].registers = 20; }, "multiple of 8");
  expect([](Demand &d) { d.warps[1].registers = 16; }, "from 24 to 256");
  expect([](Demand &d) { d.warps[1].before = 120; },
         "to start from 128 registers");
  // Who sets nothing keeps 128, so the pool is exceeded without the idle group.
  expect([](Demand &d) { d.warps.erase(d.warps.begin() + 1); },
         "(13312 too many)");
}

TEST(Capacities, R6ThreadsAreLaunched) {
  expect([](Demand &d) { d.threads = 1056; },
         "resources.R6: expected at most 1024");
  expect([](Demand &d) { d.threads = 480; },
         "resources.R6: expected correction");
}

TEST(Capacities, R7NamedBarriersAreSixteen) {
  expect([](Demand &d) { d.namedBarriers[0].count = 16; }, "resources.R7: ");
}

TEST(Capacities, R8PlacesAreFreeWhenTheyAreWritten) {
  expect(
      [](Demand &d) {
        d.clobbers = {{"tile.dot", Memory::Tensor, 64, 128, 1, 2}};
      },
      "resources.R8: overwrites columns [64, 128) of tile.dot");
}

TEST(Capacities, AnUnknownTargetIsNamed) {
  expect([](Demand &d) { d.target = "sm_1"; }, "got \"sm_1\"");
}

} // namespace
