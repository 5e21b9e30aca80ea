//===- PrintLoopGraph.cpp - Print the graphs of loops ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopGraphs.h"
#include "ProgramCheck.h"

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEPRINTLOOPGRAPH
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

struct TilePrintLoopGraphPass
    : public fmha::tile::impl::TilePrintLoopGraphBase<TilePrintLoopGraphPass> {
  using Base::Base;

  LogicalResult checkOptions() {
    if (format != "text" && format != "json" && format != "dot")
      return getOperation().emitError()
             << getArgument() << ": expected format text, json or dot, got \""
             << format << '"';
    return success();
  }

  void runOnOperation() override {
    if (!isTiledKernel(getOperation()))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(getOperation());
    if (failed(info) || failed(checkOptions()) ||
        failed(
            expectStage(getOperation(), KernelStage::Placed, getArgument())) ||
        failed(checkProgram(getOperation())))
      return signalPassFailure();
    for (GraphOfLoop &made : graphsOf(getOperation(), *info)) {
      schedule::modulo::LoopGraph graph =
          fused ? schedule::modulo::fuse(made.graph).graph : made.graph;
      llvm::errs() << (format == "json"  ? schedule::modulo::printJson(graph)
                       : format == "dot" ? schedule::modulo::printDot(graph)
                                         : schedule::modulo::print(graph));
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
