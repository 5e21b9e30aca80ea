//===- ApplyPipeline.cpp - Write derived roles, stages and orders ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopGraphs.h"
#include "ProgramCheck.h"

#include "TileFlow.h"
#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Schedule/Modulo/DerivedPipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <set>

namespace fmha::tile {
#define GEN_PASS_DEF_TILEAPPLYPIPELINE
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using namespace fmha::schedule::modulo;

/// Returns the titles of the rows for a target and a head dim, or "none". A row
/// with the title of the loop has other ops, such as those of a soft cap.
static std::string titlesFor(std::string_view target, unsigned headDim,
                             std::string_view loop) {
  std::set<std::string_view> titles;
  for (const DerivedPipeline &row : derivedPipelines())
    if (row.target == target && row.headDim == headDim)
      titles.insert(row.title);
  std::string list;
  for (std::string_view title : titles)
    list += (list.empty() ? "\"" : ", \"") + std::string(title) + "\"" +
            (title == loop ? " (with other ops)" : "");
  return list.empty() ? "none" : list;
}

/// Returns the title without the word for a mask, which adds no dependence.
static llvm::StringRef unmasked(llvm::StringRef title) {
  title.consume_back(" masked");
  return title;
}

namespace {

struct TileApplyPipelinePass
    : public fmha::tile::impl::TileApplyPipelineBase<TileApplyPipelinePass> {

  LogicalResult apply(GraphOfLoop &made, const KernelInfo &info) {
    uint64_t structure = structureOf(made.graph);
    const DerivedPipeline *row =
        findPipeline(info.schedule.target, info.problem.headDim, structure);
    auto places = row ? readPlaces(row->places)
                      : std::optional<std::vector<NamedPlace>>();
    if (!places || places->size() != made.ops.size())
      return made.loop.emitOpError()
             << "expected a loop of the table of derived pipelines, got \""
             << made.graph.title << "\" of structure 0x"
             << llvm::utohexstr(structure)
             << "; compile with --pipeline=table, derive its pipeline by "
                "scripts/build/pipelines.py, or take one of the table: "
             << titlesFor(info.schedule.target, info.problem.headDim,
                          made.graph.title);
    if (unmasked(row->title) != unmasked(made.graph.title))
      made.loop.emitRemark()
          << "the loop \"" << made.graph.title
          << "\" has the pipeline that was derived for \"" << row->title
          << "\", which has the same ops and dependences";
    for (auto [op, named] : llvm::zip(made.ops, *places))
      if (!partitionOf(op))
        setPartition(op,
                     PartitionAttr::get(&getContext(), named.place.role,
                                        named.place.stage, named.place.order));
    return success();
  }

  void runOnOperation() override {
    if (!isTiledKernel(getOperation()))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(getOperation());
    if (failed(info) ||
        failed(
            expectStage(getOperation(), KernelStage::Placed, getArgument())) ||
        failed(checkProgram(getOperation())))
      return signalPassFailure();
    for (GraphOfLoop &made : graphsOf(getOperation(), *info))
      if (failed(apply(made, *info)))
        return signalPassFailure();
  }
};

} // namespace
