//===- KernelArguments.h - The parameters of one launch ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments of cuLaunchKernel: one address per parameter of the manifest,
// that of a tensor map, a device pointer or a number.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_HOST_KERNELARGUMENTS_H
#define FMHA_LIB_RUNTIME_HOST_KERNELARGUMENTS_H

#include "Captures.h"
#include "fmha/Runtime/Device.h"
#include "fmha/Runtime/Manifest.h"
#include "fmha/Runtime/Tensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace fmha::runtime {

class KernelArguments {
public:
  /// Returns null if there is no such tensor.
  using Find = llvm::function_ref<const DeviceTensor *(TensorName)>;

  /// Fails for a tensor map that the manifest describes incorrectly, or that
  /// the driver rejects.
  static llvm::Expected<KernelArguments>
  build(const KernelLaunch &launch, const Device &device,
        const RunValues &values, const DeviceCaptures &captures, Find find);

  void **pointers() { return addresses.data(); }

private:
  /// Large enough for every kind of parameter; a tensor map needs 64-byte
  /// alignment.
  struct alignas(64) Slot {
    unsigned char bytes[sizeof(driver::TensorMap)];
  };
  std::vector<Slot> slots;
  std::vector<void *> addresses;
};

} // namespace fmha::runtime

#endif // FMHA_LIB_RUNTIME_HOST_KERNELARGUMENTS_H
