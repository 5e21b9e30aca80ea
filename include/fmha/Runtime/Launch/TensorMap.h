//===- TensorMap.h - Tensor maps of a launch --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments of cuTensorMapEncodeTiled, computed from a parameter of the
// manifest and the address, shape and strides of its tensor.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_LAUNCH_TENSORMAP_H
#define FMHA_RUNTIME_LAUNCH_TENSORMAP_H

#include "fmha/Runtime/Driver/Calls.h"
#include "fmha/Runtime/Launch/Manifest.h"
#include "fmha/Runtime/Launch/View.h"

namespace fmha::launch {

/// The part of a request that depends on the tensor: `rank` extents and their
/// strides in bytes; the innermost extent has no stride. Unused entries are 0.
struct MapRequest {
  uint64_t address = 0;
  uint32_t rank = 0;
  std::array<uint64_t, 5> extents = {};
  std::array<uint64_t, 4> strides = {};

  bool operator==(const MapRequest &) const = default;
};

/// Computes the request for the tensor map `parameter` of `view`. Returns false
/// if no map of the tensor can be encoded, with a sentence in `problem`.
/// Allocates nothing otherwise.
bool describeMap(const Parameter &parameter, const View &view,
                 const RunValues &values, MapRequest &request,
                 std::string &problem);

/// Encodes the map of `parameter`; returns the driver's result.
runtime::driver::Result encodeMap(const runtime::driver::Calls &driver,
                                  const Parameter &parameter,
                                  const MapRequest &request,
                                  runtime::driver::TensorMap *map);

} // namespace fmha::launch

#endif // FMHA_RUNTIME_LAUNCH_TENSORMAP_H
