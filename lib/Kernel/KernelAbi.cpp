//===- KernelAbi.cpp - Parameters of a compiled kernel ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Kernel/KernelAbi.h"

#include "fmha/Schedule/Model/Lists.h"
#include "fmha/Schedule/Model/Schedule.h"

using namespace fmha;

std::vector<KernelParameter>
fmha::kernelOperands(const schedule::Problem &problem) {
  using Kind = KernelParameter::Kind;
  std::vector<KernelParameter> operands;
  for (const char *tensor : {"q", "k", "v"})
    operands.push_back({tensor, Kind::TensorMap});
  operands.push_back({"o", problem.outF32 ? Kind::Pointer : Kind::TensorMap});
  if (problem.source2)
    for (const char *tensor : {"k2", "v2"})
      operands.push_back({tensor, Kind::TensorMap});
  for (const schedule::RowField &row : schedule::rowFields)
    if (problem.*row.there)
      operands.push_back({row.name, Kind::Pointer});
  for (const schedule::ListField &list : schedule::listFields)
    if (problem.*list.there)
      operands.push_back({list.name, Kind::Pointer});
  if (problem.keyNew)
    for (const char *tensor : {"key_new", "value_new"})
      operands.push_back({tensor, Kind::Pointer});
  if (problem.rotates())
    for (const char *tensor : angleTables)
      operands.push_back({tensor, Kind::Pointer});
  if (problem.cuSeqlensQ)
    operands.push_back({"max_q_len", Kind::U32});
  if (problem.blockTables)
    operands.push_back({"max_pages", Kind::U32});
  if (problem.topk)
    operands.push_back({"topk_len", Kind::U32});
  if (problem.kvIndices)
    for (const char *number : {"blocks_batch", "blocks_heads", "blocks_len"})
      operands.push_back({number, Kind::U32});
  if (problem.fullKvIndices)
    operands.push_back({"full_blocks_len", Kind::U32});
  // Packed queries have one batch.
  if (problem.isPart && !problem.cuSeqlensQ)
    operands.push_back({"batch", Kind::U32});
  for (unsigned n = 0; n < problem.captures.size(); ++n)
    operands.push_back({"capture" + std::to_string(n), Kind::Pointer, n});
  return operands;
}

static constexpr std::string_view cacheSuffix = "_cache";

std::string fmha::cachePointer(const std::string &tensor) {
  return tensor + std::string(cacheSuffix);
}

std::string fmha::tensorOfPointer(const std::string &parameter) {
  return parameter.ends_with(cacheSuffix)
             ? parameter.substr(0, parameter.size() - cacheSuffix.size())
             : parameter;
}

std::vector<KernelParameter>
fmha::kernelParameters(const schedule::Problem &problem,
                       const schedule::Schedule &schedule) {
  using Kind = KernelParameter::Kind;
  std::vector<KernelParameter> parameters = kernelOperands(problem);
  std::vector<std::string> addressed, caches;
  for (KernelParameter &operand : parameters) {
    bool isCopied = operand.kind == Kind::TensorMap;
    bool isKey = operand.name == "k" || operand.name == "v";
    bool isRotated = operand.name == "q" && problem.rotates();
    if (isCopied && (usesAddresses(schedule) || isRotated ||
                     (isKey && copiesKeysByThreads(schedule))))
      operand.kind = Kind::Pointer;
    bool isRows = operand.name.size() == 1 || operand.name.ends_with("_new");
    bool isAppended =
        problem.keyNew && isKey && operand.kind == Kind::TensorMap;
    if (isAppended)
      caches.push_back(cachePointer(operand.name));
    bool isGathered = isKey && gathersRows(schedule);
    if (isAppended || isGathered || (isRows && operand.kind == Kind::Pointer))
      addressed.push_back(operand.name);
  }
  for (const std::string &name : caches)
    parameters.push_back({name, Kind::Pointer});
  for (const std::string &name : addressed)
    for (const char *stride : schedule::outputStrides)
      parameters.push_back({name + stride, Kind::U64});
  if (problem.keyVectors)
    parameters.push_back({"k_stride_vector", Kind::U64});
  if (problem.rotates())
    for (const char *tensor : angleTables)
      parameters.push_back({std::string(tensor) + "_stride_row", Kind::U64});
  for (const schedule::RowField &row : schedule::rowFields)
    if (problem.*row.there)
      for (const char *stride : schedule::rowStrides)
        parameters.push_back({std::string(row.name) + stride, Kind::U64});
  for (const char *extent : {"q_len", "kv_len", "q_heads", "kv_heads"})
    parameters.push_back({extent, Kind::U32});
  if (problem.blockTables)
    parameters.push_back({"pages", Kind::U32});
  if (problem.keyNew)
    parameters.push_back({"new_len", Kind::U32});
  if (problem.rotates())
    parameters.push_back({"positions", Kind::U32});
  if (problem.source2)
    parameters.push_back({"kv_len2", Kind::U32});
  for (unsigned n = 0; n < problem.captures.size(); ++n) {
    unsigned rank = problem.captures[n].rank;
    std::string name = "capture" + std::to_string(n);
    for (unsigned d = 0; d < rank; ++d)
      parameters.push_back({name + "_size" + std::to_string(d), Kind::U32, n});
    for (unsigned d = 0; d + 1 < rank; ++d)
      parameters.push_back(
          {name + "_stride" + std::to_string(d), Kind::U64, n});
  }
  if (boundsCtas(schedule))
    parameters.push_back({"tiles", Kind::U32});
  if (drawsTiles(schedule))
    parameters.push_back({"tile_counter", Kind::Pointer});
  return parameters;
}

std::optional<unsigned>
fmha::parameterIndex(const std::vector<KernelParameter> &parameters,
                     const std::string &name) {
  for (unsigned n = 0; n < parameters.size(); ++n)
    if (parameters[n].name == name)
      return n;
  return std::nullopt;
}

std::optional<std::string> fmha::extentParameter(const std::string &operand,
                                                 unsigned dimension) {
  struct Extents {
    const char *operand, *length, *heads;
  };
  static constexpr Extents all[] = {
      {"q", "q_len", "q_heads"},     {"k", "kv_len", "kv_heads"},
      {"v", "kv_len", "kv_heads"},   {"o", "q_len", "q_heads"},
      {"k2", "kv_len2", "kv_heads"}, {"v2", "kv_len2", "kv_heads"}};
  for (const Extents &one : all)
    if (operand == one.operand && (dimension == 1 || dimension == 2))
      return dimension == 1 ? one.length : one.heads;
  if ((operand == "k" || operand == "v") && dimension == 0)
    return "pages";
  return std::nullopt;
}
