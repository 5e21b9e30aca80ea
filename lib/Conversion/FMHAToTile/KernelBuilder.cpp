//===- KernelBuilder.cpp - Builds the tiled kernel of an op ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "KernelEpilogue.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;

/// Builds one KV block: a step of softmax for each query tile that has rows.
static void buildBlock(KeyBlocks &blocks, QueryTiles &queries,
                       OnlineSoftmax &softmax, Value block,
                       MutableArrayRef<State> states) {
  KeyBlock keys = blocks.buildBlock(block);
  BlockTiles tiles = blocks.load(keys);
  for (unsigned tile = 0; tile < states.size(); ++tile) {
    State &state = states[tile];
    SmallVector<Value> made = queries.ifActive(tile, state.values(), [&] {
      return softmax.buildStep(tile, queries.getTile(tile), tiles, keys, state)
          .values();
    });
    state = State::of(made, 0, 1);
  }
}

/// Returns the states of all query tiles after the loop over KV blocks.
static ValueRange buildLoop(KernelContext &k, KeyBlocks &blocks,
                            QueryTiles &queries, OnlineSoftmax &softmax) {
  SmallVector<Value> initial = softmax.buildInitialState();
  Value count = blocks.buildCount();
  auto loop = scf::ForOp::create(k.b, k.index(0), count, k.index(1), initial);
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToStart(loop.getBody());
  SmallVector<State> states;
  ValueRange args = loop.getRegionIterArgs();
  for (unsigned tile = 0; tile < k.plan.qTiles; ++tile)
    states.push_back(State::of(args, tile, k.plan.qTiles));
  buildBlock(blocks, queries, softmax, loop.getInductionVar(), states);
  SmallVector<Value> yielded;
  for (const State &state : states)
    yielded.append(state.values());
  scf::YieldOp::create(k.b, yielded);
  return loop.getResults();
}

void fmha::buildKernel(AttentionOp op, gpu::GPUFuncOp func) {
  KernelContext k(op, func);
  Coordinates at = buildCoordinates(k);
  buildAppend(k, at);
  QueryTiles queries(k, at);
  KeyBlocks blocks(k, at);
  OnlineSoftmax softmax(k, at, queries.getView());
  ValueRange results = buildLoop(k, blocks, queries, softmax);
  buildEpilogue(k, at, queries, results);
  gpu::ReturnOp::create(k.b);
}
