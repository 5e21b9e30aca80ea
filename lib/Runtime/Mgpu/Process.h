//===- Process.h - Driver, contexts and failure -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one driver library of the process, the contexts that this library
// retains, and the end of the process when a call fails.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_MGPU_PROCESS_H
#define FMHA_LIB_RUNTIME_MGPU_PROCESS_H

#include "fmha/Runtime/Driver/Calls.h"
#include "fmha/Runtime/Mgpu/Mgpu.h"

#include <string>

namespace fmha::runtime::mgpu {

/// Returns the driver's calls; the first call opens and initializes the
/// library.
const driver::Calls &calls();

/// Returns calls() after making a context current in this thread, if there is
/// none: the default device's primary context.
const driver::Calls &enter();

/// A context's address and the driver's number for it: the address may have
/// belonged to an earlier context.
struct ContextKey {
  driver::Context context = nullptr;
  unsigned long long id = 0;
  auto operator<=>(const ContextKey &) const = default;
};
/// Returns the key of the context that is current in this thread.
ContextKey currentContext();

/// Prints `message` as one line on stderr, flushes the streams, and ends the
/// process with status 1 without running exit handlers.
[[noreturn]] void fail(const std::string &message);

/// Fails with the call's name, the error and advice unless `result` is success.
/// `details` follows the text of the error; `log` is that of the driver's
/// compiler.
void check(const char *call, driver::Result result,
           const std::string &details = "", const char *log = "");

inline driver::DevicePointer deviceAddress(void *pointer) {
  return reinterpret_cast<driver::DevicePointer>(pointer);
}

} // namespace fmha::runtime::mgpu

#endif // FMHA_LIB_RUNTIME_MGPU_PROCESS_H
