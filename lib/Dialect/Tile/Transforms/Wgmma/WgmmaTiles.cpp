//===- WgmmaTiles.cpp - Several tiles in one flow of messages -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %row = f(gpu.block_id x)      scf.while (%tile = first, %ring = 0, %n = 0)
//   role { g(%row) }         ->   while (%tile < tiles) {
//                                   %row = f(%tile)
//                                   g(%row), its messages counted from %ring
//                                   yield next, %ring + 2 blocks, %n + 1
//                                 }
//
// Nothing is made anew between tiles and no role waits for another one there:
// rings go on, so that a tile's keys are loaded while the one before it is
// multiplied, and written while the next one is.
//
//===----------------------------------------------------------------------===//

#include "WgmmaTiles.h"

#include "Common/Distribute.h"
#include "Common/TileNumbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

bool tile::loopsOverTiles(const KernelInfo &info) {
  return info.schedule.scheduler != schedule::Scheduler::Single;
}

namespace {

/// The tiles of a CTA, by number. Behind a right bound the kernel numbers row
/// blocks so that two neighbours, a long and a short one, have as many keys as
/// any other two; a CTA does two neighbours and goes on from there. If there is
/// a CTA for each tile, it does one.
class TileOrder {
public:
  TileOrder(ImplicitLocOpBuilder &b, bool pairs) : b(b), pairs(pairs) {
    count = arith::IndexCastUIOp::create(
        b, b.getIndexType(), TileCountOp::create(b, b.getI32Type()));
    grid = gpu::GridDimOp::create(b, gpu::Dimension::x);
    if (pairs)
      several =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, count, grid);
  }

  Value first() {
    Value id = gpu::BlockIdOp::create(b, gpu::Dimension::x);
    if (!pairs)
      return id;
    return select(several, arith::AddIOp::create(b, id, id), id);
  }
  Value isThere(Value tile) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, tile, count);
  }
  /// tile + 1 behind an even one, tile + 2 grid - 1 behind an odd one.
  Value next(Value tile) {
    if (!pairs)
      return arith::AddIOp::create(b, tile, grid);
    Value even = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                       arith::AndIOp::create(b, tile, index(1)),
                                       index(0));
    Value far = arith::SubIOp::create(b, arith::AddIOp::create(b, grid, grid),
                                      index(1));
    Value step = select(arith::AndIOp::create(b, several, even), index(1), far);
    return arith::AddIOp::create(b, tile, step);
  }

private:
  Value index(int64_t v) { return arith::ConstantIndexOp::create(b, v); }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }

  ImplicitLocOpBuilder &b;
  bool pairs;
  Value count, grid, several;
};

/// Makes anew, at the start of `body`, what `role` uses and a tile decides.
void placeRole(ImplicitLocOpBuilder &b, RoleOp role, const KernelInfo &info,
               Block *body) {
  Block &entry = role->getParentOp()->getBlock()->getParent()->front();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(body);
  // One thread alone has no other that may differ.
  bool uniform =
      !role.getSingleThread() && needs(Workaround::UniformTileNumbers, info);
  TileNumbers::of(entry).place(b, role, body->getArgument(0), uniform);
}

} // namespace

void tile::buildTileLoop(ImplicitLocOpBuilder &b, RoleOp role,
                         const KernelInfo &info, Value blocks,
                         function_ref<void(MessagesBefore)> body) {
  TileOrder order(b, info.problem.mask.rightBound().has_value());
  Value zero = arith::ConstantIndexOp::create(b, 0);
  SmallVector<Value> initial = {order.first(), zero, zero};
  SmallVector<Type> types(initial.size(), b.getIndexType());
  SmallVector<Location> locs(initial.size(), b.getLoc());
  auto loop = scf::WhileOp::create(b, types, initial);
  OpBuilder::InsertionGuard guard(b);
  Block *test = b.createBlock(&loop.getBefore(), {}, types, locs);
  scf::ConditionOp::create(b, order.isThere(test->getArgument(0)),
                           test->getArguments());
  Block *each = b.createBlock(&loop.getAfter(), {}, types, locs);
  body({each->getArgument(1), each->getArgument(2)});
  Value messages =
      arith::MulIOp::create(b, blocks, arith::ConstantIndexOp::create(b, 2));
  Value one = arith::ConstantIndexOp::create(b, 1);
  scf::YieldOp::create(
      b, ValueRange{order.next(each->getArgument(0)),
                    arith::AddIOp::create(b, each->getArgument(1), messages),
                    arith::AddIOp::create(b, each->getArgument(2), one)});
  placeRole(b, role, info, each);
}
