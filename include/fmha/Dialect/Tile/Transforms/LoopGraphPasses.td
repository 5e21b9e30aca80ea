//===- LoopGraphPasses.td - Passes on the graphs of loops -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_TRANSFORMS_LOOPGRAPHPASSES_TD
#define FMHA_DIALECT_TILE_TRANSFORMS_LOOPGRAPHPASSES_TD

include "fmha/Dialect/Tile/Transforms/TilePass.td"

def TilePrintLoopGraph : Tile_Pass<"tile-print-loop-graph"> {
  let summary = "Print a graph of each loop: its ops with modeled clocks, and their dependences";
  let description = [{
    Prints a graph for each innermost loop of a placed kernel that has products, to standard error: a line for each op, with
    its modeled clocks and the units that it keeps busy, and a line for each dependence, with its distance in iterations. `->`
    is a value, `~>` is memory or registers that are used again. The kernel does not change. `fmha-pipeline` derives roles,
    stages and orders from the graph in JSON. The clocks of a pair of CTAs (`cta_group = 2`) are those of one of them, which loads half of K and V.

    Input:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ...
    %x = tile.move %s : ...
    ```
    Output:
    ```
    dot0: mma, 517 clk, MMA 517, SMEM 512
    move0: softmax*, 287 clk, TMEM 287, registers of move0
    dot0 -> move0: distance 0, latency 136
    move0 ~> dot0: distance 1, latency 0
    ```
  }];
  let options = [
    Option<"format", "format", "std::string", "\"text\"", "form of the graph: text, json or dot (Graphviz)">,
    Option<"fused", "fused", "bool", "false", "merge the ops of a thread between two waits, as the solver does">];
}

def TileApplyPipeline : Tile_Pass<"tile-apply-pipeline", ["::fmha::FMHADialect"]> {
  let summary = "Write the derived role, stage and order on the ops of each loop";
  let description = [{
    Looks up the graph of each innermost loop with products in the table of derived pipelines (DerivedPipelines.def), and
    writes `tile.partition` on its ops. `tile-assign-partitions` keeps these partitions and assigns all other ops. A loop that
    is not in the table is an error: the solver has not been run on its graph.

    Before:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ...
    ```
    After:
    ```mlir
    %s = tile.dot %q, %k transpose_b {tile.partition = #tile.partition<role = "mma", order = 1>} : ...
    ```
  }];
}

#endif // FMHA_DIALECT_TILE_TRANSFORMS_LOOPGRAPHPASSES_TD
