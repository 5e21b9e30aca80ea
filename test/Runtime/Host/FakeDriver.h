//===- FakeDriver.h - What the fake driver saw ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_TEST_RUNTIME_HOST_FAKEDRIVER_H
#define FMHA_TEST_RUNTIME_HOST_FAKEDRIVER_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fake {

/// How this driver encodes a tensor map, in place of the hardware's format.
struct Map {
  void *address;
  uint32_t dims[5];
  uint64_t strides[4];
};
static_assert(sizeof(Map) <= 128);

struct Log {
  int contexts = 0, modules = 0, allocations = 0, launches = 0, pending = 0;
  std::string entry;
  int allowedSmem = -1;
  uint32_t launchSmem = 0;
  std::array<uint32_t, 3> grid = {}, block = {};
  std::vector<int> mapTypes;
  std::vector<Map> maps;
};

} // namespace fake

#endif // FMHA_TEST_RUNTIME_HOST_FAKEDRIVER_H
