//===- HostDevice.h - Devices of launches on host arrays --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PYTHON_SRC_HOSTDEVICE_H
#define FMHA_PYTHON_SRC_HOSTDEVICE_H

#include "fmha/Runtime/Device.h"

#include <mutex>
#include <stdexcept>
#include <string>

namespace fmha::python {

/// Returns the value, or throws the error as a std::runtime_error.
template <typename Value> Value take(llvm::Expected<Value> value) {
  if (!value)
    throw std::runtime_error(llvm::toString(value.takeError()));
  return std::move(*value);
}

/// Returns the lock of launches on host arrays, which run one at a time: the
/// options of the simulator are the process's own.
std::mutex &hostTurn();

/// Returns the device for `kind` ("sim" or "cuda") and `target`, opened once,
/// with its context current in this thread. Call it with hostTurn() held.
runtime::Device &enterHostDevice(const std::string &kind,
                                 const std::string &library,
                                 const std::string &target);

} // namespace fmha::python

#endif // FMHA_PYTHON_SRC_HOSTDEVICE_H
