//===- ProcAddress.cpp - Functions by name --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State/DriverTypes.h"

#include <cstring>

namespace {
constexpr int found = 0, notFound = 1, versionTooLow = 2;
} // namespace

DRIVER_API cuGetProcAddress_v2(const char *symbol, void **out, int version,
                               uint64_t flags, int *status);
DRIVER_API cuGetProcAddress(const char *symbol, void **out, int version,
                            uint64_t flags);

// Only the addresses are needed, so the types stay in the files that define the
// functions. An undefined name in the table is a link error.
namespace proc {
#define DRIVER_PROC(name, version, symbol)                                     \
  extern "C" void address_of_##symbol() __asm__(#symbol);
#include "ProcAddress.def"
} // namespace proc

namespace {

struct Proc {
  const char *name;
  int version;
  void (*address)();
};

constexpr Proc procs[] = {
#define DRIVER_PROC(name, version, symbol)                                     \
  {#name, version, proc::address_of_##symbol},
#include "ProcAddress.def"
};

/// Returns the newest form not newer than `version`, or null; sets `status`.
const Proc *look(const char *symbol, int version, int &status) {
  const Proc *best = nullptr;
  status = notFound;
  for (const Proc &proc : procs) {
    if (std::strcmp(proc.name, symbol) != 0)
      continue;
    if (proc.version <= version)
      best = &proc;
    status = best ? found : versionTooLow;
  }
  return best;
}

} // namespace

/// An unknown name is not an error of the call: the pointer is null and the
/// status gives the reason.
DRIVER_API cuGetProcAddress_v2(const char *symbol, void **out, int version,
                               uint64_t, int *status) {
  if (!symbol || !out)
    return CUDA_ERROR_INVALID_VALUE;
  int answer = notFound;
  const Proc *proc = look(symbol, version, answer);
  *out = proc ? reinterpret_cast<void *>(proc->address) : nullptr;
  if (status)
    *status = answer;
  return CUDA_SUCCESS;
}

/// The form of CUDA 11.3, which has no status and returns the error instead.
DRIVER_API cuGetProcAddress(const char *symbol, void **out, int version,
                            uint64_t flags) {
  int status = notFound;
  CUresult result = cuGetProcAddress_v2(symbol, out, version, flags, &status);
  if (result == CUDA_SUCCESS && status != found)
    return CUDA_ERROR_NOT_FOUND;
  return result;
}
