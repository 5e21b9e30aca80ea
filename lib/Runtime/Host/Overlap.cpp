//===- Overlap.cpp - Whether two host tensors share memory ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Overlap.h"
#include "fmha/Runtime/Launch/Overlap.h"

namespace fmha::runtime {

static launch::Region regionOf(const Tensor4 &tensor) {
  int64_t size = int64_t(sizeOf(tensor.dtype));
  int64_t columns = tensor.vector ? tensor.vector : tensor.dims[3];
  launch::Region region(uintptr_t(tensor.host),
                        tensor.host ? uint64_t(columns * size) : 0);
  if (tensor.vector)
    region.add(tensor.vectorStride * size, tensor.dims[3] / tensor.vector);
  for (int i = 0; i < 3; ++i)
    region.add(tensor.strides[i] * size, tensor.dims[i]);
  return region;
}

bool mayOverlap(const Tensor4 &a, const Tensor4 &b) {
  return launch::mayOverlap(regionOf(a), regionOf(b));
}

} // namespace fmha::runtime
