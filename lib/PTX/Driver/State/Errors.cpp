//===- Errors.cpp - Names and texts of the result codes -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverTypes.h"

#include <algorithm>
#include <iterator>

namespace {

struct Result {
  int number;
  const char *name, *text;
};

constexpr Result results[] = {
#define DRIVER_RESULT(name, number, text) {number, "CUDA_" #name, text},
#include "Errors.def"
};

const Result *find(CUresult result) {
  const Result *found =
      std::find_if(std::begin(results), std::end(results),
                   [&](const Result &r) { return r.number == int(result); });
  return found == std::end(results) ? nullptr : found;
}

CUresult look(CUresult result, const char **out, const char *Result::*field) {
  if (!out)
    return CUDA_ERROR_INVALID_VALUE;
  const Result *found = find(result);
  *out = found ? found->*field : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

} // namespace

DRIVER_API cuGetErrorName(CUresult result, const char **out) {
  return look(result, out, &Result::name);
}

DRIVER_API cuGetErrorString(CUresult result, const char **out) {
  return look(result, out, &Result::text);
}
