//===- AppendModule.cpp - A module with one fmha.append -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Compiler.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::formatv;

namespace {

/// The arguments of the function and the clauses of the op, in their order.
struct Text {
  std::string arguments;

  /// Declares an argument; returns its type.
  std::string add(const char *name, std::string type) {
    arguments += (arguments.empty() ? "%" : ", %") + (name + (": " + type));
    return type;
  }
  std::string one(const char *clause, const char *name, std::string type) {
    return formatv(" {0}(%{1} : {2})", clause, name, add(name, std::move(type)))
        .str();
  }
  std::string two(const char *clause, const char *a, const char *b,
                  std::string typeOfA, std::string typeOfB) {
    std::string first = add(a, std::move(typeOfA));
    std::string second = add(b, std::move(typeOfB));
    return formatv(" {0}(%{1}, %{2} : {3}, {4})", clause, a, b, first, second)
        .str();
  }
};

} // namespace

std::string fmha::appendModule(const AppendProblem &problem) {
  auto rows = [&](const std::string &length, unsigned dim) {
    return formatv("memref<?x{0}x?x{1}x{2}, strided<[?, ?, ?, 1]>>", length,
                   dim, problem.dtype)
        .str();
  };
  std::string angles =
      formatv("memref<?x{0}xf32, strided<[?, 1]>>", problem.rotaryDim / 2);
  std::string cacheRows =
      problem.pageSize ? std::to_string(problem.pageSize) : "?";
  Text text;
  std::string op =
      text.two("ins", "key_new", "value_new", rows("?", problem.headDim),
               rows("?", problem.headDimV)) +
      text.one("kv_lens", "kv_lens", "memref<?xi32>");
  if (problem.pageSize)
    op += text.one("block_tables", "block_tables", "memref<?x?xi32>");
  if (problem.hasRotary())
    op += text.two(("rotary " + problem.rotary).c_str(), "rotary_cos",
                   "rotary_sin", angles, angles);
  if (problem.query)
    op += text.one("query", "q", rows("?", problem.headDim));
  op += text.two("outs", "k", "v", rows(cacheRows, problem.headDim),
                 rows(cacheRows, problem.headDimV));
  if (problem.query)
    op += text.one("query_out", "q_out", rows("?", problem.headDim));
  return formatv("func.func @append({0}) {{\n  fmha.append{1}\n  return\n}\n",
                 text.arguments, op)
      .str();
}
