//===- DriverApi.h - The CUDA driver API with LLVM's errors -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver calls of fmha/Runtime/Driver/Calls.h with llvm::Error, for hosts
// that link LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_DRIVERAPI_H
#define FMHA_RUNTIME_DRIVERAPI_H

#include "fmha/Runtime/Driver/Calls.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace fmha::runtime::driver {

struct Api : Calls {
  /// Returns success, or the error "<what> failed: <description>".
  llvm::Error check(Result result, const llvm::Twine &what) const;
};

/// Opens `library` and resolves all driver calls. Fails if the library, or a
/// symbol of it, is missing; the message names it. The library is never closed,
/// because a driver cannot be used after that.
llvm::Expected<Api> load(const std::string &library);

} // namespace fmha::runtime::driver

#endif // FMHA_RUNTIME_DRIVERAPI_H
