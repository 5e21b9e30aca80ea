//===- DriverApi.cpp - The CUDA driver API with LLVM's errors -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/DriverApi.h"
#include "fmha/Runtime/Files.h"

namespace fmha::runtime::driver {

llvm::Error Api::check(Result result, const llvm::Twine &what) const {
  if (result == success)
    return llvm::Error::success();
  return failure(what + " failed: " + describe(result));
}

llvm::Expected<Api> load(const std::string &library) {
  std::string why;
  std::optional<Calls> calls = open(library, why);
  if (!calls)
    return failure(why);
  return Api{std::move(*calls)};
}

} // namespace fmha::runtime::driver
