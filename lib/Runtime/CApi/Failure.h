//===- Failure.h - The error of a call --------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_CAPI_FAILURE_H
#define FMHA_LIB_RUNTIME_CAPI_FAILURE_H

#include "fmha-c/Runtime.h"

#include <string>

namespace fmha::capi {

/// Stores `message` for fmhaLastError() of this thread, and returns `status`.
FmhaStatus fail(FmhaStatus status, std::string message);

/// Returns the message of fmhaLastError().
const char *lastMessage();

} // namespace fmha::capi

#endif // FMHA_LIB_RUNTIME_CAPI_FAILURE_H
