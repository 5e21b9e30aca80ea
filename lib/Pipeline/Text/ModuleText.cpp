//===- ModuleText.cpp - The text of a module from flags ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Text/ScoreText.h"
#include "fmha/Pipeline/Compiler.h"
#include "fmha/Schedule/Model/Lists.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fmha;

/// Defines %v as the first columns of %k; with `source` "2", %v2 of %k2.
static std::string viewOfKey(const schedule::Problem &problem,
                             const std::string &key, const std::string &value,
                             const char *source) {
  std::string text;
  for (unsigned n = 0; n < 3; ++n)
    text += llvm::formatv("  %c{2}{0} = arith.constant {0} : index\n"
                          "  %n{2}{0} = memref.dim %k{2}, %c{2}{0} : {1}\n",
                          n, key, source);
  // The rows of a page are static.
  std::string rows = problem.pageSize ? std::to_string(problem.pageSize)
                                      : llvm::formatv("%n{0}1", source).str();
  return text + llvm::formatv("  %v{3} = memref.subview %k{3}[0, 0, 0, 0] "
                              "[%n{3}0, {4}, %n{3}2, {0}] [1, 1, 1, 1]\n"
                              "      : {1} to {2}\n",
                              problem.headDimV, key, value, source, rows)
                    .str();
}

/// The operands, clause and view of a second KV segment, empty without one.
struct SecondTexts {
  std::string arguments, clause, view;
};
static SecondTexts secondTexts(const schedule::Problem &problem,
                               const std::string &key,
                               const std::string &value) {
  SecondTexts texts;
  if (!problem.source2)
    return texts;
  texts.arguments = "%k2: " + key + ", ";
  if (problem.vInK)
    texts.view = viewOfKey(problem, key, value, "2");
  else
    texts.arguments += "%v2: " + value + ", ";
  texts.clause = "      source2(%k2, %v2 : " + key + ", " + value + ")\n";
  return texts;
}

/// Returns the mask in the syntax of #fmha.mask.
static std::string maskText(const schedule::Mask &mask) {
  constexpr llvm::StringLiteral kinds[] = {"none", "causal", "causal_top_left"};
  std::string text = "#fmha.mask<" + kinds[mask.kind].str();
  if (mask.left)
    text += ", left = " + std::to_string(*mask.left);
  if (mask.right)
    text += ", right = " + std::to_string(*mask.right);
  return text + ">";
}

namespace {
struct RowTexts {
  std::string arguments, names, types, clauses;
};
} // namespace

static std::string typeOf(const schedule::ListField &list) {
  std::string type = "memref<";
  for (unsigned n = 0; n < list.rank; ++n)
    type += "?x";
  return type + (list.isFloat ? "f32>" : "i32>");
}

/// Returns the clause of the lists of blocks:
///   "      blocks[128, 128](%kv_num_blocks, ... : memref<?x?x?xi32>, ...)\n"
static std::string
blocksClause(const schedule::Problem &problem,
             llvm::ArrayRef<const schedule::ListField *> lists) {
  auto join = [&](auto text) {
    return llvm::join(llvm::map_range(lists, text), ", ");
  };
  return llvm::formatv("      blocks[{0}, {1}]({2} : {3})\n", problem.blockRows,
                       problem.blockKeys, join([](auto *list) {
                         return std::string("%") + list->name;
                       }),
                       join([](auto *list) { return typeOf(*list); }));
}

/// Returns arguments and operands of the varlen metadata that the op reads:
///   "%kv_lens: memref<?xi32>, ", "      kv_lens(%kv_lens : memref<?xi32>)\n"
static std::pair<std::string, std::string>
listTexts(const schedule::Problem &problem) {
  std::string arguments, operands;
  llvm::SmallVector<const schedule::ListField *> blocks;
  for (const schedule::ListField &list : schedule::listFields) {
    if (!(problem.*list.there))
      continue;
    std::string type = typeOf(list);
    arguments += llvm::formatv("%{0}: {1}, ", list.name, type);
    if (list.isOfBlocks)
      blocks.push_back(&list);
    else
      operands += llvm::formatv("      {0}(%{0} : {1})\n", list.name, type);
    if (list.there == &schedule::Facts::kvIndices && !problem.fullKvIndices)
      operands += blocksClause(problem, blocks);
    if (list.there == &schedule::Facts::fullKvIndices)
      operands += blocksClause(problem, blocks);
  }
  return {arguments, operands};
}

/// Returns arguments, destinations and clauses of the row outputs: LSE is
/// listed with the output, the others have separate clauses.
///   ", %row_max: T", "", "      row_max(%row_max : T)\n"
static RowTexts rowTexts(const schedule::Problem &problem) {
  constexpr llvm::StringLiteral type = "memref<?x?x?xf32, strided<[?, ?, ?]>>";
  RowTexts texts;
  for (const schedule::RowField &row : schedule::rowFields) {
    if (!(problem.*row.there))
      continue;
    texts.arguments += llvm::formatv(", %{0}: {1}", row.name, type);
    if (row.there == &schedule::Problem::lse) {
      texts.names = ", %lse";
      texts.types = ", " + type.str();
    } else {
      texts.clauses += llvm::formatv("\n      {0}(%{0} : {1})", row.name, type);
    }
  }
  return texts;
}

/// Returns arguments and operands of new keys and values, empty without them.
static std::pair<std::string, std::string> appendTexts(
    const schedule::Problem &problem,
    llvm::function_ref<std::string(unsigned, const char *, unsigned)> tensor) {
  if (!problem.keyNew)
    return {};
  const char *element = schedule::elementName(problem.kvDtype()).data();
  std::string k = tensor(problem.headDim, element, 0);
  std::string v = tensor(problem.headDimV, element, 0);
  std::string arguments = "%key_new: " + k + ", %value_new: " + v + ", ";
  std::string clauses =
      "      append(%key_new, %value_new : " + k + ", " + v + ")\n";
  if (problem.rotates()) {
    std::string angles = llvm::formatv("memref<?x{0}xf32, strided<[?, 1]>>",
                                       problem.rotaryDim / 2);
    arguments += "%rotary_cos: " + angles + ", %rotary_sin: " + angles + ", ";
    clauses += llvm::formatv(
        "      rotary {0}(%rotary_cos, %rotary_sin : {1}, {1})\n",
        problem.rotaryInterleaved ? "interleaved" : "half", angles);
  }
  return {arguments, clauses};
}

/// Returns the type of keys in vectors of 16 bytes.
static std::string vectorsText(const schedule::Problem &problem) {
  unsigned vector = 16 / schedule::bytesOf(problem.kvDtype());
  return llvm::formatv("memref<?x?x?x{0}x{1}x{2}, strided<[?, ?, ?, ?, 1]>>",
                       problem.headDim / vector, vector,
                       schedule::elementName(problem.kvDtype()).data())
      .str();
}

std::string fmha::buildModule(const KernelSpec &spec) {
  const schedule::Problem &problem = spec.problem;
  auto tensor = [&](unsigned headDim, const char *element,
                    unsigned length = 0) {
    return llvm::formatv("memref<?x{2}x?x{0}x{1}, strided<[?, ?, ?, 1]>>",
                         headDim, element,
                         length ? std::to_string(length) : "?")
        .str();
  };
  const char *element = schedule::elementName(problem.dtype).data();
  const char *cached = schedule::elementName(problem.kvDtype()).data();
  std::string q = tensor(problem.headDim, element);
  std::string k = problem.keyVectors
                      ? vectorsText(problem)
                      : tensor(problem.headDim, cached, problem.pageSize);
  std::string v = tensor(problem.headDimV, cached, problem.pageSize);
  std::string o = tensor(problem.headDimV,
                         schedule::elementName(problem.outDtype()).data());
  RowTexts rows = rowTexts(problem);
  std::string attributes;
  auto add = [&](const std::string &text) {
    attributes += (attributes.empty() ? "" : ", ") + text;
  };
  if (!(problem.mask == schedule::Mask()))
    add("mask = " + maskText(problem.mask));
  if (!problem.mask2.isFull())
    add("source2_mask = " + maskText(problem.mask2));
  if (spec.scale) {
    // The bit pattern, so that parsing returns the same double.
    uint64_t bits = llvm::bit_cast<uint64_t>(*spec.scale);
    add("scale = 0x" + llvm::utohexstr(bits, /*LowerCase=*/false, 16) +
        " : f64");
  }
  for (const schedule::Fact &fact : schedule::facts)
    if (fact.isAttribute() && problem.*fact.there)
      add(fact.name);
  if (!spec.schedule.empty())
    add("schedule = " + spec.schedule);
  auto [listArguments, lists] = listTexts(problem);
  auto [arguments2, clause2, view2] = secondTexts(problem, k, v);
  auto [newArguments, newClause] = appendTexts(problem, tensor);
  listArguments = arguments2 + listArguments + newArguments;
  lists = clause2 + lists + newClause;
  for (const ScoreOperand &read : scoreOperands(spec.score))
    listArguments += "%" + read.name + ": " + read.type + ", ";
  return llvm::formatv(
             "func.func @attention(%q: {0}, %k: {13}, {6}{8}%o: {11}{2}) {{\n"
             "{7}  fmha.attention ins(%q, %k, %v : {0}, {13}, {1})\n"
             "{9}      outs(%o{3} : {11}{4}){12}{5}{10}\n"
             "  return\n}\n",
             q, v, rows.arguments, rows.names, rows.types,
             attributes.empty() ? "" : " {" + attributes + "}",
             problem.vInK ? "" : "%v: " + v + ", ",
             problem.vInK ? viewOfKey(problem, k, v, "") + view2 : "",
             listArguments, lists, scoreText(spec.score, problem), o,
             rows.clauses, k)
      .str();
}
