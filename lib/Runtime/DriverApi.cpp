//===- DriverApi.cpp - The CUDA driver API, loaded by name ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/DriverApi.h"
#include "fmha/Runtime/Files.h"

#include <dlfcn.h>

namespace fmha::runtime::driver {

std::string Api::describe(Result result) const {
  const char *name = nullptr, *text = nullptr;
  getErrorName(result, &name);
  getErrorString(result, &text);
  std::string description = name ? name : "error " + std::to_string(result);
  if (text && *text)
    description += std::string(": ") + text;
  const char *reason = lastError ? lastError() : nullptr;
  if (reason && *reason)
    description += std::string(" (") + reason + ")";
  return description;
}

llvm::Error Api::check(Result result, const llvm::Twine &what) const {
  if (result == 0)
    return llvm::Error::success();
  return failure(what + " failed: " + describe(result));
}

/// Resolves `symbol` into `pointer`; says whether it is there.
template <typename Pointer>
static bool resolve(void *handle, const char *symbol, Pointer &pointer) {
  pointer = reinterpret_cast<Pointer>(dlsym(handle, symbol));
  return pointer != nullptr;
}

llvm::Expected<Api> load(const std::string &library) {
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return failure("cannot load '" + library + "': " + dlerror());
  Api api;
  api.library = library;
  const char *missing = nullptr;
#define FMHA_RESOLVE(member, symbol, signature)                                \
  if (!resolve(handle, #symbol, api.member) && !missing)                       \
    missing = #symbol;
  FMHA_DRIVER_CALLS(FMHA_RESOLVE)
#undef FMHA_RESOLVE
  if (missing)
    return failure("'" + library +
                   "' is no CUDA driver of version 12 or newer: "
                   "expected it to export " +
                   missing);
  resolve(handle, "ptxsimSetOption", api.setOption);
  resolve(handle, "ptxsimReset", api.reset);
  resolve(handle, "ptxsimLastReport", api.lastReport);
  resolve(handle, "ptxsimLastError", api.lastError);
  return api;
}

} // namespace fmha::runtime::driver
