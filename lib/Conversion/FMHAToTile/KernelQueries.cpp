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

QueryTiles::QueryTiles(KernelContext &k, const Coordinates &at)
    : b(k.b), view(k.view(k.func.getArgument(Query), placeOfQueries(k, at),
                          k.plan.packHeads)),
      active(k.plan.qTiles) {
  if (schedule::skipsEmptyTiles(k.plan))
    active[1] = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at.rows[1],
                                      at.queries.length);
  for (unsigned tile = 0; tile < k.plan.qTiles; ++tile)
    tiles.push_back(k.inRegion(
        tile::LoadOp::create(b,
                             k.tileType(k.keyColumns(), k.op.getElementType()),
                             at.rows[tile], view, Value()),
        "Q" + Twine(tile)));
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
