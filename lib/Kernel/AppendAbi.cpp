//===- AppendAbi.cpp - Parameters of the kernel of fmha.append ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Kernel/AppendAbi.h"

#include "fmha/Schedule/Model/Lists.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fmha;

DictionaryAttr fmha::describeAppend(const AppendProblem &problem,
                                    MLIRContext *ctx) {
  Builder b(ctx);
  auto number = [&](StringRef name, unsigned value) {
    return b.getNamedAttr(name, b.getI64IntegerAttr(value));
  };
  SmallVector<NamedAttribute> entries = {
      b.getNamedAttr("dtype", b.getStringAttr(problem.dtype)),
      number("head_dim", problem.headDim),
      number("head_dim_v", problem.headDimV)};
  if (problem.pageSize)
    entries.push_back(number("page_size", problem.pageSize));
  if (problem.hasRotary()) {
    entries.push_back(
        b.getNamedAttr("rotary", b.getStringAttr(problem.rotary)));
    entries.push_back(number("rotary_dim", problem.rotaryDim));
  }
  if (problem.query)
    entries.push_back(b.getNamedAttr("query", b.getUnitAttr()));
  return b.getDictionaryAttr(entries);
}

unsigned fmha::appendPieces(const AppendProblem &problem) {
  return problem.headDim / appendColumns + problem.headDimV / appendColumns;
}

unsigned fmha::appendHeadsPerCta(const AppendProblem &problem) {
  return std::max(1u, appendThreads / appendPieces(problem));
}

std::vector<KernelParameter>
fmha::appendParameters(const AppendProblem &problem) {
  using Kind = KernelParameter::Kind;
  std::vector<KernelParameter> parameters;
  auto add = [&](std::initializer_list<const char *> names, Kind kind) {
    for (const char *name : names)
      parameters.push_back({name, kind});
  };
  std::vector<std::string> matrices = {"key_new", "value_new", "k", "v"};
  add({"key_new", "value_new", "k", "v", "kv_lens"}, Kind::Pointer);
  if (problem.pageSize)
    add({"block_tables"}, Kind::Pointer);
  if (problem.hasRotary())
    add({"rotary_cos", "rotary_sin"}, Kind::Pointer);
  if (problem.query) {
    add({"q", "q_out"}, Kind::Pointer);
    matrices.insert(matrices.end(), {"q", "q_out"});
  }
  for (const std::string &name : matrices)
    for (const char *stride : schedule::outputStrides)
      parameters.push_back({name + stride, Kind::U64});
  if (problem.hasRotary())
    add({"rotary_cos_stride_row", "rotary_sin_stride_row"}, Kind::U64);
  add({"new_len", "kv_heads", "kv_len", "append_rows"}, Kind::U32);
  if (problem.pageSize)
    add({"max_pages", "pages"}, Kind::U32);
  if (problem.hasRotary())
    add({"positions"}, Kind::U32);
  if (problem.query)
    add({"q_len", "q_heads"}, Kind::U32);
  return parameters;
}
