//===- MapCache.cpp - Tensor maps encoded before --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MapCache.h"

#include <algorithm>
#include <cstring>

namespace fmha::capi {

namespace driver = runtime::driver;

MapCache::Entry *MapCache::setOf(const launch::MapRequest &request) {
  uint64_t hash = request.address;
  for (uint64_t extent : request.extents)
    hash = hash * 0x9e3779b97f4a7c15 + extent;
  for (uint64_t stride : request.strides)
    hash = hash * 0x9e3779b97f4a7c15 + stride;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9;
  return &entries[(hash >> 40) % sets * ways];
}

driver::Result MapCache::get(const driver::Calls &driver,
                             const launch::MapRequest &request,
                             driver::TensorMap *map) {
  Entry *set = setOf(request);
  std::lock_guard<std::mutex> lock(turn);
  for (Entry *entry = set; entry != set + ways; ++entry)
    if (entry->used && entry->request == request) {
      entry->used = ++uses;
      *map = entry->map;
      return driver::success;
    }
  if (driver::Result result =
          launch::encodeMap(driver, *parameter, request, map))
    return result;
  Entry *oldest =
      std::min_element(set, set + ways, [](const Entry &a, const Entry &b) {
        return a.used < b.used;
      });
  oldest->request = request;
  oldest->map = *map;
  oldest->used = ++uses;
  return driver::success;
}

} // namespace fmha::capi
