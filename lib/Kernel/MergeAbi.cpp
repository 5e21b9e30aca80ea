//===- MergeAbi.cpp - Parameters of the kernel that combines splits -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Kernel/MergeAbi.h"

#include "fmha/Schedule/Model/Lists.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fmha;

MergeProblem fmha::mergeOf(const schedule::Problem &problem,
                           const schedule::Schedule &schedule) {
  MergeProblem merge;
  merge.headDim = problem.headDimV;
  merge.output = stringify(problem.outDtype());
  for (const schedule::Fact &fact : schedule::facts)
    if (fact.ofMerge)
      merge.*fact.there = problem.*fact.there;
  merge.cuSeqlensQ = problem.cuSeqlensQ;
  if (schedule::splitsByLength(schedule)) {
    merge.slotKeys = schedule.kvBlock;
    merge.slotsPerSequence = schedule.splits;
  }
  return merge;
}

DictionaryAttr fmha::describeMerge(const MergeProblem &problem,
                                   MLIRContext *ctx) {
  Builder b(ctx);
  SmallVector<NamedAttribute> entries = {
      b.getNamedAttr("head_dim", b.getI64IntegerAttr(problem.headDim)),
      b.getNamedAttr("output", b.getStringAttr(problem.output))};
  for (const schedule::Fact &fact : schedule::facts)
    if (problem.*fact.there)
      entries.push_back(b.getNamedAttr(fact.name, b.getUnitAttr()));
  if (problem.slotKeys)
    entries.append(
        {b.getNamedAttr("slot_keys", b.getI64IntegerAttr(problem.slotKeys)),
         b.getNamedAttr("slots_per_sequence",
                        b.getI64IntegerAttr(problem.slotsPerSequence))});
  return b.getDictionaryAttr(entries);
}

unsigned fmha::mergeRowsPerCta(unsigned headDim) {
  constexpr unsigned columnsOfWarp = 128, warps = mergeThreads / 32;
  unsigned warpsOfRow = headDim <= columnsOfWarp       ? 1
                        : headDim <= 2 * columnsOfWarp ? 2
                                                       : warps;
  return warps / warpsOfRow;
}

std::vector<KernelParameter>
fmha::mergeParameters(const MergeProblem &problem) {
  using Kind = KernelParameter::Kind;
  std::vector<KernelParameter> parameters;
  auto add = [&](const std::string &name, Kind kind) {
    parameters.push_back({name, kind});
  };
  for (const char *name : {"o_parts", "max_parts", "sum_parts", "o"})
    add(name, Kind::Pointer);
  for (const schedule::RowField &row : schedule::rowFields)
    if (problem.*row.there)
      add(row.name, Kind::Pointer);
  if (problem.sink)
    add("sink", Kind::Pointer);
  if (problem.cuSeqlensQ)
    add("cu_seqlens_q", Kind::Pointer);
  if (problem.slotKeys)
    add("kv_lens", Kind::Pointer);
  for (const char *stride : {"_part", "_batch", "_row", "_head"})
    add(std::string("o_parts_stride") + stride, Kind::U64);
  for (const char *tensor : {"max_parts", "sum_parts"})
    for (const char *stride : {"_part", "_batch", "_head", "_row"})
      add(std::string(tensor) + "_stride" + stride, Kind::U64);
  for (const char *stride : schedule::outputStrides)
    add(std::string("o") + stride, Kind::U64);
  for (const schedule::RowField &row : schedule::rowFields)
    for (const char *stride : schedule::rowStrides)
      if (problem.*row.there)
        add(std::string(row.name) + stride, Kind::U64);
  for (const char *extent : {"parts", "q_len", "q_heads"})
    add(extent, Kind::U32);
  if (problem.cuSeqlensQ || problem.slotKeys)
    add("batch", Kind::U32);
  return parameters;
}
