//===- TileLoop.cpp - Loops over the output tiles of a CTA ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %row = f(gpu.block_id x)           scf.while (%tile = gpu.block_id x) {
//   role { g(%row) }           ->        %row = f(%tile)
//                                        g(%row)
//                                        one CTA barrier; the load role alone:
//                                          set_next_tile; reinitialize barriers
//                                        one CTA barrier
//                                        %next = next_tile
//                                      } while (%next != -1)
//
// The number of the next tile is passed through shared memory, so that no role
// keeps it in a register while it works on a tile.
//
//===----------------------------------------------------------------------===//

#include "TileLoop.h"
#include "Distribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using schedule::NextTile;

void tile::syncAround(ImplicitLocOpBuilder &b, const KernelInfo &info) {
  bool hasTmem = info.map.tmemColumns != 0;
  if (hasTmem)
    FenceOp::create(b, FenceKind::Tcgen05Before);
  SyncCtaOp::create(b);
  if (hasTmem)
    FenceOp::create(b, FenceKind::Tcgen05After);
}

void TileLoop::prepare(Block &entry) {
  if (!isNeeded())
    return;
  ofTile = TileNumbers::of(entry, needs(Workaround::RereadExtents, info));
  first = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  if (isDynamic())
    answered = BarrierOp::create(b, BarrierType::get(b.getContext(), 1),
                                 b.getStringAttr("next_tile"),
                                 place(NextTile::barrier), 1, Value());
  for (BarrierOp barrier : entry.getOps<BarrierOp>())
    barriers.push_back(barrier);
}

void TileLoop::ifThen(Value condition, function_ref<void()> body) {
  auto made = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// From tile to tile
//===----------------------------------------------------------------------===//

/// Emits the request for the next tile, which is answered while this tile is
/// computed.
void TileLoop::askForTile() {
  Value stage = arith::ConstantIndexOp::create(b, 0);
  ArriveExpectTxOp::create(b, answered, stage, 16);
  TryCancelOp::create(b, answered, stage, place(NextTile::response));
}

/// Returns the number of the next tile, -1 if there is none.
Value TileLoop::chooseNext(Value tile) {
  if (isDynamic()) {
    Value zero = arith::ConstantIndexOp::create(b, 0);
    WaitOp::create(b, answered, zero, zero);
    Value next =
        QueryCancelOp::create(b, b.getI32Type(), place(NextTile::response));
    // The next response is written by the asynchronous proxy.
    FenceOp::create(b, FenceKind::ProxyAsync);
    return next;
  }
  auto number = [&](Value index) -> Value {
    return arith::IndexCastOp::create(b, b.getI32Type(), index);
  };
  Value grid = gpu::GridDimOp::create(b, gpu::Dimension::x);
  Value next = arith::AddIOp::create(b, number(tile), number(grid));
  Value count = TileCountOp::create(b, b.getI32Type());
  Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, next, count);
  return arith::SelectOp::create(b, more, next, constantI32(b, -1));
}

/// Emits the reinitialization of all barriers, because the messages of each
/// tile are counted from 0.
void TileLoop::renewBarriers() {
  for (BarrierOp barrier : barriers)
    InvalBarrierOp::create(b, barrier);
  for (BarrierOp barrier : barriers)
    InitBarrierOp::create(b, barrier, barrier.getArrivals());
  FenceOp::create(b, FenceKind::MbarrierInit);
}

/// Emits the code between two tiles: waits until all threads have finished
/// `tile`, and returns the number of the next one. `keeper` is the condition of
/// the thread that chooses it, null in other roles.
Value TileLoop::handOver(Value tile, Value keeper) {
  SyncWarpOp::create(b);
  syncAround(b, info);
  if (keeper) {
    ifThen(keeper, [&] {
      SetNextTileOp::create(b, chooseNext(tile), place(NextTile::number),
                            /*slot=*/Value());
      renewBarriers();
    });
    SyncWarpOp::create(b);
  }
  SyncCtaOp::create(b);
  Value next = NextTileOp::create(b, b.getI32Type(), place(NextTile::number),
                                  /*slot=*/Value());
  // ptxas does not know that all threads of a warp read the same number.
  return UniformOp::create(
      b, arith::IndexCastOp::create(b, b.getIndexType(), next));
}

void TileLoop::build(RoleOp role, Value leader, function_ref<void()> body) {
  auto loop =
      scf::WhileOp::create(b, TypeRange{b.getIndexType()}, ValueRange{first});
  OpBuilder::InsertionGuard guard(b);
  Block *each =
      b.createBlock(&loop.getBefore(), {}, {b.getIndexType()}, {b.getLoc()});
  Value tile = each->getArgument(0);
  ofTile.place(b, role, tile);
  Value keeper = isKeeper(role) ? leader : Value();
  if (keeper && isDynamic())
    ifThen(keeper, [&] { askForTile(); });
  body();
  Value next = handOver(tile, keeper);
  Value none = arith::ConstantIndexOp::create(b, -1);
  Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, next, none);
  scf::ConditionOp::create(b, more, ValueRange{next});
  Block *again =
      b.createBlock(&loop.getAfter(), {}, {b.getIndexType()}, {b.getLoc()});
  scf::YieldOp::create(b, again->getArguments());
}
