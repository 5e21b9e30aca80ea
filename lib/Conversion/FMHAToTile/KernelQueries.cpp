//===- KernelQueries.cpp - The query tiles of a kernel --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelQueries.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;

/// Loads a query tile; with a rotary embedding it is rotated. Query row 0 sits
/// at position kv_len - q_len. If threads address the tensors, they copy it.
static Value loadTile(KernelContext &k, const Coordinates &at, unsigned tile,
                      Value view) {
  auto type = k.tileType(k.keyColumns(), k.op.getElementType());
  std::string region = "Q" + std::to_string(tile);
  if (!k.problem.rotates() && schedule::usesAddresses(k.plan))
    return k.inRegion(
        tile::LoadRotatedOp::create(k.b, type, at.rows[tile], view, Value(),
                                    Value(), Value(), /*interleaved=*/false),
        region);
  if (!k.problem.rotates())
    return k.inRegion(
        tile::LoadOp::create(k.b, type, at.rows[tile], view, Value()), region);
  Value position = k.make<arith::SubIOp>(at.keys.length,
                                         k.extent(Query, AttentionOp::Length));
  return k.inRegion(tile::LoadRotatedOp::create(
                        k.b, type, at.rows[tile], view, position,
                        k.operand(angleTables[0]), k.operand(angleTables[1]),
                        k.problem.rotaryInterleaved),
                    region);
}

QueryTiles::QueryTiles(KernelContext &k, const Coordinates &at)
    : b(k.b), view(k.view(k.func.getArgument(Query), placeOfQueries(k, at),
                          k.plan.packHeads)),
      active(k.plan.qTiles) {
  if (schedule::skipsEmptyTiles(k.problem, k.plan))
    active[1] = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                      at.firstRows[1], at.queries.length);
  for (unsigned tile = 0; tile < k.plan.qTiles; ++tile)
    tiles.push_back(loadTile(k, at, tile, view));
}

SmallVector<Value>
QueryTiles::ifActive(unsigned tile, ValueRange otherwise,
                     function_ref<SmallVector<Value>()> body) {
  if (!active[tile])
    return body();
  bool yields = !otherwise.empty();
  auto branch =
      scf::IfOp::create(b, otherwise.getTypes(), active[tile], yields);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> values = body();
  if (yields) {
    scf::YieldOp::create(b, values);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, otherwise);
  }
  return branch.getResults();
}
