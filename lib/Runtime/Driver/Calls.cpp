//===- Calls.cpp - The CUDA driver API, loaded by name --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Driver/Calls.h"

#include <dlfcn.h>
#include <utility>

namespace fmha::runtime::driver {
namespace {

enum class Extra {
#define FMHA_NAME(member, symbol, signature) member,
  FMHA_DRIVER_EXTRA_CALLS(FMHA_NAME)
#undef FMHA_NAME
};

/// Returns the missing symbol that this thread called last.
const char *&missingSymbol() {
  thread_local const char *symbol = nullptr;
  return symbol;
}

const char *symbolOf(Extra call) {
  switch (call) {
#define FMHA_SYMBOL(member, symbol, signature)                                 \
  case Extra::member:                                                          \
    return #symbol;
    FMHA_DRIVER_EXTRA_CALLS(FMHA_SYMBOL)
#undef FMHA_SYMBOL
  }
  return nullptr;
}

/// Replaces an optional call that the library lacks.
template <Extra call, typename... Arguments> Result unsupported(Arguments...) {
  missingSymbol() = symbolOf(call);
  return errorNotSupported;
}

template <Extra call, typename... Arguments>
void useUnsupported(Result (*&pointer)(Arguments...)) {
  pointer = unsupported<call, Arguments...>;
}

/// Resolves `symbol` into `pointer`. Returns whether the library has it.
template <typename Pointer>
bool resolve(void *handle, const char *symbol, Pointer &pointer) {
  pointer = reinterpret_cast<Pointer>(dlsym(handle, symbol));
  return pointer != nullptr;
}

void resolveExtras(void *handle, Calls &calls) {
#define FMHA_RESOLVE(member, symbol, signature)                                \
  if (!resolve(handle, #symbol, calls.member))                                 \
    useUnsupported<Extra::member>(calls.member);
  FMHA_DRIVER_EXTRA_CALLS(FMHA_RESOLVE)
#undef FMHA_RESOLVE
  resolve(handle, "ptxsimSetOption", calls.setOption);
  resolve(handle, "ptxsimReset", calls.reset);
  resolve(handle, "ptxsimLastReport", calls.lastReport);
  resolve(handle, "ptxsimLastError", calls.lastError);
}

} // namespace

std::string Calls::describe(Result result, std::string_view log) const {
  const char *name = nullptr, *text = nullptr;
  getErrorName(result, &name);
  getErrorString(result, &text);
  std::string description = name ? name : "error " + std::to_string(result);
  if (text && *text)
    description += std::string(": ") + text;
  if (result == errorNotSupported && missingSymbol())
    return description + " ('" + library + "' does not export " +
           std::exchange(missingSymbol(), nullptr) + ")";
  // The simulator's log repeats its own reason, and may be truncated.
  const char *own = lastError ? lastError() : nullptr;
  std::string reason = own && *own ? own : std::string(log);
  while (reason.ends_with('\n'))
    reason.pop_back();
  return reason.empty() ? description : description + " (" + reason + ")";
}

std::optional<Calls> open(const std::string &library, std::string &why) {
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    why = "cannot load '" + library + "': " + (reason ? reason : "no reason");
    return std::nullopt;
  }
  Calls calls;
  calls.library = library;
  const char *missing = nullptr;
#define FMHA_RESOLVE(member, symbol, signature)                                \
  if (!resolve(handle, #symbol, calls.member) && !missing)                     \
    missing = #symbol;
  FMHA_DRIVER_CALLS(FMHA_RESOLVE)
#undef FMHA_RESOLVE
  if (missing) {
    why = "'" + library +
          "' is no CUDA driver of version 12 or newer: "
          "expected it to export " +
          missing;
    return std::nullopt;
  }
  resolveExtras(handle, calls);
  return calls;
}

} // namespace fmha::runtime::driver
