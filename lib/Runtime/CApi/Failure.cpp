//===- Failure.cpp - The error of a call ----------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Failure.h"

namespace fmha::capi {

static std::string &message() {
  thread_local std::string text;
  return text;
}

FmhaStatus fail(FmhaStatus status, std::string text) {
  message() = std::move(text);
  return status;
}

const char *lastMessage() { return message().c_str(); }

} // namespace fmha::capi
