//===- MapCache.h - Tensor maps encoded before ------------------*- C++ -*-===//
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

/// The maps of one parameter. A map depends only on its request (address,
/// extents, strides), so an entry stays valid when the memory is freed and
/// reused: another shape is another request.
class MapCache {
public:
  explicit MapCache(const launch::Parameter &parameter)
      : parameter(&parameter), entries(sets * ways) {}

  /// Copies the map for `request` to `map`, and encodes it first if it is not
  /// cached. Returns the driver's result. Thread-safe; allocates nothing.
  runtime::driver::Result get(const runtime::driver::Calls &driver,
                              const launch::MapRequest &request,
                              runtime::driver::TensorMap *map);

private:
  static constexpr size_t sets = 32, ways = 4;
  struct Entry {
    launch::MapRequest request;
    /// Number of the entry's last use; 0 for never.
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
