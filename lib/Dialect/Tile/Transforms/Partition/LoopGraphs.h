//===- LoopGraphs.h - Graphs of the loops of a placed kernel ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_LOOPGRAPHS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_LOOPGRAPHS_H

#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Schedule/Modulo/LoopGraph.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fmha::tile {

/// An innermost loop of a placed kernel with products, and its graph.
struct GraphOfLoop {
  mlir::scf::ForOp loop;
  schedule::modulo::LoopGraph graph;
  /// The ops of the graph, in its order.
  mlir::SmallVector<mlir::Operation *> ops;
};

/// Returns the graphs of the loops of `func`, with the times of one CTA of the
/// kernel's group.
mlir::SmallVector<GraphOfLoop> graphsOf(mlir::gpu::GPUFuncOp func,
                                        const KernelInfo &info);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_LOOPGRAPHS_H
