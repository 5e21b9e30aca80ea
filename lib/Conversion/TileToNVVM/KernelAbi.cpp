//===- KernelAbi.cpp - Parameters of a compiled kernel ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/TileToNVVM/KernelAbi.h"

#include <cassert>

using namespace fmha;

std::vector<KernelParameter> fmha::kernelParameters(bool lse) {
  using Kind = KernelParameter::Kind;
  std::vector<KernelParameter> parameters;
  for (const char *tensor : {"q", "k", "v", "o"})
    parameters.push_back({tensor, Kind::TensorMap});
  if (lse) {
    parameters.push_back({"lse", Kind::Pointer});
    for (const char *stride :
         {"lse_stride_batch", "lse_stride_head", "lse_stride_row"})
      parameters.push_back({stride, Kind::U64});
  }
  for (const char *extent : {"q_len", "kv_len", "q_heads", "kv_heads"})
    parameters.push_back({extent, Kind::U32});
  return parameters;
}

unsigned fmha::parameterIndex(const std::vector<KernelParameter> &parameters,
                              const std::string &name) {
  for (unsigned n = 0; n < parameters.size(); ++n)
    if (parameters[n].name == name)
      return n;
  assert(false && "no such kernel parameter");
  return 0;
}

std::optional<std::string> fmha::extentParameter(unsigned operand,
                                                 unsigned dimension) {
  bool isQuery = operand == 0 || operand == 3;
  if (operand > 3)
    return std::nullopt;
  if (dimension == 1)
    return isQuery ? "q_len" : "kv_len";
  if (dimension == 2)
    return isQuery ? "q_heads" : "kv_heads";
  return std::nullopt;
}
