//===- MapCache.h - Tensor maps that were encoded before --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_CAPI_MAPCACHE_H
#define FMHA_LIB_RUNTIME_CAPI_MAPCACHE_H

#include "fmha/Runtime/Launch/TensorMap.h"

#include <mutex>
#include <vector>

namespace fmha::capi {

/// The maps of one parameter. A map depends on its request (address, extents,
/// strides) and on nothing else, so an entry stays right when the memory is
/// freed and used again: another shape is another request.
class MapCache {
public:
  explicit MapCache(const launch::Parameter &parameter)
      : parameter(&parameter), entries(sets * ways) {}

  /// Copies the map for `request` to `map`, encoding it if it is not held.
  /// Returns what the driver answers. Safe to call from several threads;
  /// allocates nothing.
  runtime::driver::Result get(const runtime::driver::Calls &driver,
                              const launch::MapRequest &request,
                              runtime::driver::TensorMap *map);

private:
  static constexpr size_t sets = 32, ways = 4;
  struct Entry {
    launch::MapRequest request;
    /// When the entry was used last; 0 for never.
    uint64_t used = 0;
    runtime::driver::TensorMap map;
  };
  Entry *setOf(const launch::MapRequest &request);

  const launch::Parameter *parameter;
  std::mutex turn;
  uint64_t uses = 0;
  std::vector<Entry> entries;
};

} // namespace fmha::capi

#endif // FMHA_LIB_RUNTIME_CAPI_MAPCACHE_H
