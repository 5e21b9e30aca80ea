//===- MergeModule.cpp - A module with one fmha.merge ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Compiler.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

std::string fmha::mergeModule(const MergeSpec &spec) {
  auto matrix = [&](const char *lead, const char *strides,
                    const std::string &element) {
    return llvm::formatv("memref<{0}?x?x?x{1}x{2}, strided<[{3}?, ?, ?, 1]>>",
                         lead, spec.headDim, element, strides)
        .str();
  };
  constexpr llvm::StringLiteral parts =
      "memref<?x?x?x?xf32, strided<[?, ?, ?, ?]>>";
  constexpr llvm::StringLiteral row = "memref<?x?x?xf32, strided<[?, ?, ?]>>";
  std::string arguments, clauses, sink, lse, lseType;
  const std::pair<const char *, bool> rows[] = {{"row_max", spec.rowMax},
                                                {"row_sum", spec.rowSum}};
  for (auto [name, there] : rows) {
    if (!there)
      continue;
    arguments += llvm::formatv(", %{0}: {1}", name, row);
    clauses += llvm::formatv(" {0}(%{0} : {1})", name, row);
  }
  if (spec.sink) {
    arguments += ", %sink: memref<?xf32>";
    sink = " sink(%sink : memref<?xf32>)";
  }
  if (spec.lse) {
    arguments += ", %lse: " + row.str();
    lse = ", %lse";
    lseType = ", " + row.str();
  }
  return llvm::formatv(
             "func.func @merge(%o: {0}, %m: {1}, %s: {1}, %out: {2}{3}) {{\n"
             "  fmha.merge ins(%o, %m, %s : {0}, {1}, {1}){4}\n"
             "      outs(%out{5} : {2}{6}){7}{8}\n  return\n}\n",
             matrix("?x", "?, ", "f32"), parts, matrix("", "", spec.output),
             arguments, sink, lse, lseType, clauses,
             spec.unnormalised ? " {unnormalised}" : "")
      .str();
}
