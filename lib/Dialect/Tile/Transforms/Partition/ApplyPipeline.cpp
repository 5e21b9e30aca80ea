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

namespace fmha::tile {
#define GEN_PASS_DEF_TILEAPPLYPIPELINE
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using namespace fmha::schedule::modulo;

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
             << "; derive its pipeline by scripts/build/pipelines.py, or "
                "compile with --pipeline=table";
    if (row->title != made.graph.title)
      made.loop.emitRemark()
          << "has the pipeline that was derived for \"" << row->title
          << "\", this one is \"" << made.graph.title << '"';
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
    for (GraphOfLoop &made : graphsOf(getOperation(), *info, 1))
      if (failed(apply(made, *info)))
        return signalPassFailure();
  }
};

} // namespace
