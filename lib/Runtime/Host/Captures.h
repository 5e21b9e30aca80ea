//===- Captures.h - Tensors of the score region, on the device --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_HOST_CAPTURES_H
#define FMHA_LIB_RUNTIME_HOST_CAPTURES_H

#include "fmha/Runtime/Attention.h"

namespace fmha::runtime {

/// Returns an error for captures that are missing or unexpected, have other
/// types, or have no elements.
llvm::Error checkCaptures(const Manifest &manifest,
                          const AttentionTensors &tensors);

/// The device copies, each row followed by a guard.
class DeviceCaptures {
public:
  static llvm::Expected<DeviceCaptures>
  create(Device &device, const std::vector<CaptureData> &captures);

  /// Returns the value of a parameter that names a capture: its address, an
  /// extent, or a stride in elements.
  uint64_t valueOf(const Parameter &parameter) const;

private:
  struct Copy {
    DeviceMemory memory;
    std::vector<int64_t> dims, strides;
  };
  std::vector<Copy> copies;
};

} // namespace fmha::runtime

#endif // FMHA_LIB_RUNTIME_HOST_CAPTURES_H
