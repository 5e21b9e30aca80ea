//===- DrawnTiles.cpp - Pass tile indices between roles -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   role "load" {                       wait %free[%n mod 2]
//     announce_tile %tile[%n]     ->    set_next_tile %tile to 96[%n mod 2]
//   }                                   arrive %full[%n mod 2]
//
//   role "consumer0" {                  wait %full[%n mod 2]
//     %tile = await_tile[%n]      ->    %tile = next_tile at 96[%n mod 2]
//   }                                   one thread of each warp:
//                                         arrive %free[%n mod 2]
//
//===----------------------------------------------------------------------===//

#include "DrawnTiles.h"
#include "Common/Distribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using schedule::DrawnTiles;

namespace {

class AnnouncementLowering {
public:
  AnnouncementLowering(Operation *roles, unsigned place, unsigned arrivals);

  void lower(AnnounceTileOp op);
  void lower(AwaitTileOp op);

private:
  Value makeBarrier(StringRef name, unsigned offset, unsigned arrivals);
  Value stageOf(Value message) {
    return stageOfMessage(b, DrawnTiles::slots, message);
  }

  ImplicitLocOpBuilder b;
  unsigned place;
  Value full, free;
};

AnnouncementLowering::AnnouncementLowering(Operation *roles, unsigned place,
                                           unsigned arrivals)
    : b(roles->getLoc(), roles), place(place) {
  full = makeBarrier("next_tile.full", DrawnTiles::full, 1);
  free = makeBarrier("next_tile.free", DrawnTiles::free, arrivals);
}

Value AnnouncementLowering::makeBarrier(StringRef name, unsigned offset,
                                        unsigned arrivals) {
  auto type = BarrierType::get(b.getContext(), DrawnTiles::slots);
  return BarrierOp::create(b, type, b.getStringAttr(name), place + offset,
                           arrivals, Value());
}

void AnnouncementLowering::lower(AnnounceTileOp op) {
  b.setInsertionPoint(op);
  waitForMessage(b, free, DrawnTiles::slots, op.getMessage(), /*free=*/true);
  Value stage = stageOf(op.getMessage());
  SetNextTileOp::create(b, op.getTile(), place + DrawnTiles::numbers, stage);
  ArriveOp::create(b, full, stage);
  op.erase();
}

void AnnouncementLowering::lower(AwaitTileOp op) {
  b.setInsertionPoint(op);
  waitForMessage(b, full, DrawnTiles::slots, op.getMessage(), /*free=*/false);
  Value stage = stageOf(op.getMessage());
  Value next =
      toIndex(b, NextTileOp::create(b, b.getI32Type(),
                                    place + DrawnTiles::numbers, stage));
  if (op->getParentOfType<RoleOp>().getSingleThread()) {
    ArriveOp::create(b, free, stage);
  } else {
    SyncWarpOp::create(b);
    inIf(b, ElectOp::create(b, b.getI1Type()),
         [&] { ArriveOp::create(b, free, stage); });
    // ptxas does not know that all threads of a warp read the same value.
    next = UniformOp::create(b, next);
  }
  op.replaceAllUsesWith(next);
  op.erase();
}

} // namespace

/// Returns how many threads release a slot: one per warp that awaits a tile.
static unsigned releasesOf(ArrayRef<AwaitTileOp> awaits) {
  unsigned releases = 0;
  for (AwaitTileOp await : awaits) {
    auto role = await->getParentOfType<RoleOp>();
    releases += role.getLastWarp() - role.getFirstWarp();
  }
  return releases;
}

void tile::lowerAnnouncements(gpu::GPUFuncOp func, const KernelInfo &info) {
  SmallVector<AnnounceTileOp> announcements;
  SmallVector<AwaitTileOp> awaits;
  func.walk([&](AnnounceTileOp op) { announcements.push_back(op); });
  func.walk([&](AwaitTileOp op) { awaits.push_back(op); });
  if (announcements.empty())
    return;
  auto roles = announcements.front()->getParentOfType<WarpSpecializeOp>();
  AnnouncementLowering lowering(roles, info.map.findSmem("next_tile")->offset,
                                releasesOf(awaits));
  for (AnnounceTileOp op : announcements)
    lowering.lower(op);
  for (AwaitTileOp op : awaits)
    lowering.lower(op);
}
