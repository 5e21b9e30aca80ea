//===- TileNumbers.cpp - Values that depend on the number of a tile -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileNumbers.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

/// Returns whether a copy ends with the rows of the view, and not with those of
/// the tensor.
static bool endsByView(ViewOp view) {
  return view.getStart() || view.getPages() || view.getList();
}

/// Returns the values that `op` reads: its operands, and in place of a view the
/// operands of the view that `op` uses.
static SmallVector<Value> readBy(Operation *op) {
  SmallVector<Value> read;
  auto add = [&](std::initializer_list<Value> values) {
    llvm::copy_if(values, std::back_inserter(read),
                  [](Value value) { return bool(value); });
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<LoadOp, StoreOp>([&](auto copy) {
        ViewOp at = copy.getViewOp();
        add({at.getBatch(), copy.getRow(), at.getCopyHead(), at.getMember(),
             at.getColumn(), at.getStart(), at.getEntry(), at.getFirst(),
             at.getBound(), endsByView(at) ? at.getLength() : Value()});
      })
      .Case([&](LoadFactorsOp load) {
        ViewOp at = load.getViewOp();
        add({load.getRow(), at.getEntry(), at.getFirst(), at.getBound(),
             at.getLength()});
      })
      .Case([&](WriteOp write) {
        ViewOp at = write.getViewOp();
        add({at.getBatch(), write.getRow(), at.getHead(), at.getCount(),
             at.getColumn(), at.getStart(), at.getLength()});
      })
      .Case([&](StoreRowsOp store) {
        ViewOp at = store.getViewOp();
        add({at.getBatch(), at.getHead(), store.getRow(), at.getCount(),
             at.getStart(), at.getLength()});
      })
      .Case([&](LoadRowsOp load) {
        add({load.getViewOp().getHead(), load.getViewOp().getCount()});
      })
      .Case([&](ModifyOp modify) {
        ViewOp at = modify.getQueriesOp();
        add({modify.getRow(), modify.getCol(), modify.getCondition(),
             at.getHeads() ? at.getHead() : Value()});
      })
      .Case([&](MaskOp mask) {
        add({mask.getRow(), mask.getCol(), mask.getKeysOp().getLength(),
             mask.getLower(), mask.getUpper()});
      })
      .Case<ViewOp>([](auto) {})
      .Default([&](Operation *other) {
        read.assign(other->operand_begin(), other->operand_end());
      });
  return read;
}

/// Whether an op reads the value at `use`, directly or through a view.
static bool isRead(OpOperand &use) {
  auto view = dyn_cast<ViewOp>(use.getOwner());
  return !view || llvm::any_of(view->getUsers(), [&](Operation *user) {
    return llvm::is_contained(readBy(user), use.get());
  });
}

SetVector<Value> tile::usedOfOthers(Region &region) {
  SetVector<Value> used;
  region.walk([&](Operation *op) {
    if (!op->use_empty() && llvm::none_of(op->getUses(), isRead))
      return;
    for (Value operand : readBy(op))
      if (!region.isAncestor(operand.getParentRegion()))
        used.insert(operand);
  });
  return used;
}

void tile::replaceInRole(RoleOp role, Value value, Value here) {
  value.replaceUsesWithIf(here, [&](OpOperand &use) {
    return role->isProperAncestor(use.getOwner());
  });
}

TileNumbers TileNumbers::of(Block &entry, bool withExtents) {
  TileNumbers found;
  for (Operation &op : entry) {
    bool follows = llvm::any_of(op.getOperands(), [&](Value operand) {
      return found.ops.contains(operand.getDefiningOp());
    });
    bool begins =
        isa<gpu::BlockIdOp>(op) || (withExtents && isa<memref::DimOp>(op));
    if (begins || (follows && !isa<WarpSpecializeOp>(op)))
      found.ops.insert(&op);
  }
  return found;
}

/// Returns `value` for the tile that `made` maps block ids to. An extent
/// becomes uniform, so that no pass moves it out of the loop.
Value TileNumbers::remake(ImplicitLocOpBuilder &b, Value value,
                          IRMapping &made) const {
  Operation *op = value.getDefiningOp();
  if (!ops.contains(op))
    return value;
  if (isa<memref::DimOp>(op) && !made.contains(value))
    made.map(value, UniformOp::create(b, value));
  if (!made.contains(value)) {
    for (Value operand : op->getOperands())
      if (!made.contains(operand))
        made.map(operand, remake(b, operand, made));
    b.clone(*op, made);
  }
  return made.lookup(value);
}

/// Clones the views that `role` uses, with the values in `placed` as operands.
/// Operands that the role does not read are computed again.
void TileNumbers::placeViews(ImplicitLocOpBuilder &b, RoleOp role,
                             IRMapping &made, const IRMapping &placed) const {
  SetVector<Value> left;
  role.getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (ops.contains(operand.getDefiningOp()) &&
          !role.getBody().isAncestor(operand.getParentRegion()))
        left.insert(operand);
  });
  for (Value value : left) {
    auto view = value.getDefiningOp<ViewOp>();
    if (!view) {
      replaceInRole(role, value, remake(b, value, made));
      continue;
    }
    IRMapping own;
    for (Value operand : view->getOperands())
      own.map(operand, placed.contains(operand) ? placed.lookup(operand)
                                                : remake(b, operand, made));
    replaceInRole(role, value, b.clone(*view, own)->getResult(0));
  }
}

/// Maps the numbers of the CTA to `tile`.
IRMapping TileNumbers::mapTile(Value tile) const {
  IRMapping made;
  for (Operation *op : ops)
    if (isa<gpu::BlockIdOp>(op))
      made.map(op->getResult(0), tile);
  return made;
}

SmallVector<Value> TileNumbers::at(ImplicitLocOpBuilder &b, ValueRange values,
                                   Value tile) const {
  IRMapping made = mapTile(tile);
  return llvm::map_to_vector(
      values, [&](Value value) { return remake(b, value, made); });
}

void TileNumbers::place(ImplicitLocOpBuilder &b, RoleOp role,
                        Value tile) const {
  IRMapping made = mapTile(tile), placed;
  for (Value value : usedOfOthers(role.getBody())) {
    Value here = remake(b, value, made);
    if (here == value)
      continue;
    replaceInRole(role, value, here);
    placed.map(value, here);
  }
  placeViews(b, role, made, placed);
}

void TileNumbers::eraseDead() {
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}
