//===- Captures.h - What code on scores reads, on the device ----*- C++ -*-===//
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

/// Captures that the kernel lacks or wants, of other types, or without
/// elements, as an error.
llvm::Error checkCaptures(const Manifest &manifest,
                          const AttentionTensors &tensors);

/// The device copies, each row with a guard behind it.
class DeviceCaptures {
public:
  static llvm::Expected<DeviceCaptures>
  create(Device &device, const std::vector<CaptureData> &captures);

  /// What a parameter that names a capture is: its address, an extent, or a
  /// stride in elements.
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
