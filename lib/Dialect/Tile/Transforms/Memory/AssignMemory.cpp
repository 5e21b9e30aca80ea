//===- AssignMemory.cpp - Assign a space and an address to every tile -----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/KernelFamily.h"
#include "Memory/Regions.h"
#include "Partition/TileFlow.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Layout/SmemTile.h"
#include "fmha/Layout/Tmem.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEASSIGNMEMORY
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

static constexpr unsigned inWarp = layout::tmemHalfLanes; // Halves of a row.

static TileType typeOf(Value tile) { return cast<TileType>(tile.getType()); }

static void setPlace(Value tile, Attribute place) {
  tile.setType(typeOf(tile).withPlace(place));
}

namespace {

/// Writes places into types in program order, and inserts moves between them.
class Assigner {
public:
  Assigner(gpu::GPUFuncOp func, const KernelInfo &info)
      : func(func), info(info), rules(familyOf(info.schedule).memory),
        lanes(std::max(schedule::lanesOfHalves(info.schedule), inWarp)),
        ctx(func.getContext()), accumulators(accumulatorsOf(func)) {}
  LogicalResult run() { return assignBlock(func.getBody().front()); }

private:
  LogicalResult assignBlock(Block &block);
  LogicalResult assign(Operation *op);
  LogicalResult assignLoop(scf::ForOp loop);
  LogicalResult assignBranch(scf::IfOp branch);
  LogicalResult assignProduct(Operation *op);
  LogicalResult assignCast(CastOp op);
  LogicalResult assignSmem(Operation *op);
  LogicalResult copyRows(Operation *op, Value tile, OpOperand &rows);
  LogicalResult copyStored(StoreOp op);
  LogicalResult checkTiles(Operation *op);
  bool takesInPlace(OpOperand &use);
  void copyToRegisters(Value product);

  Attribute registers() {
    return rules.productsInTmem ? Attribute(RegistersAttr::get(ctx, 1, lanes))
                                : FragmentAttr::get(ctx);
  }
  /// Of 64 rows both threads of a row have work in each slice of the scores.
  Attribute wholeRegisters(TileType type) {
    bool shared = rules.productsInTmem && type.getShape().size() == 2 &&
                  type.getRows() == layout::tmemLanes / 2;
    return shared ? RegistersAttr::get(ctx, info.schedule.pSlices, lanes)
                  : registers();
  }
  Attribute findRegion(StringRef name, TileType type);
  enum class Memory { Shared, Tensor, Any };
  FailureOr<Attribute> regionFor(Operation *op, StringRef name, TileType type,
                                 Memory memory);
  LogicalResult checkRegion(Operation *op, StringRef name, TileType type,
                            Attribute place);
  Value copy(Value tile, Attribute place);

  gpu::GPUFuncOp func;
  const KernelInfo &info;
  const MemoryRules &rules;
  const unsigned lanes; // The distance of threads that share a row.
  MLIRContext *ctx;
  llvm::DenseSet<Operation *> accumulators;
  OpBuilder b{ctx};
};

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Returns the place of a tile of `type` in the region `name`, null if the
/// memory map has no such region. The stage pitch is that of the region's
/// largest tile.
Attribute Assigner::findRegion(StringRef name, TileType type) {
  if (const schedule::TmemRegion *t = info.map.findTmem(name.str()))
    return TmemAttr::get(ctx, t->column, t->lane, t->stages, t->pitch,
                         lanes > inWarp ? lanes : 0);
  const schedule::SmemRegion *smem = info.map.findSmem(name.str());
  if (!smem)
    return {};
  bool fills = type.getBytes() == int64_t(smem->bytes) || smem->stages == 1;
  return SmemAttr::get(ctx, smem->offset, smem->stages,
                       fills ? 0 : smem->bytes);
}

/// Checks that the region `name`, which begins at `place`, holds a tile of
/// `type`.
LogicalResult Assigner::checkRegion(Operation *op, StringRef name,
                                    TileType type, Attribute place) {
  uint64_t needed, there;
  if (const schedule::TmemRegion *tmem = info.map.findTmem(name.str())) {
    needed = type.getTmemColumns() / (lanes > inWarp ? 2 : 1);
    there = tmem->columns;
  } else {
    needed = type.getBytes();
    there = info.map.findSmem(name.str())->bytes;
  }
  if (needed > there)
    return op->emitOpError() << "expected a region of at least " << needed
                             << (isa<TmemAttr>(place) ? " columns" : " bytes")
                             << ", got \"" << name << "\" of " << there;
  return TileType::verify([&] { return op->emitOpError(); }, type.getShape(),
                          type.getElementType(), place);
}

FailureOr<Attribute> Assigner::regionFor(Operation *op, StringRef name,
                                         TileType type, Memory memory) {
  Attribute found = findRegion(name, type);
  bool fits = found && (memory == Memory::Any ||
                        isa<TmemAttr>(found) == (memory == Memory::Tensor));
  if (fits) {
    if (failed(checkRegion(op, name, type, found)))
      return failure();
    return found;
  }
  InFlightDiagnostic error =
      op->emitOpError("expected a tile.region of the kernel's memory map (");
  llvm::ListSeparator separator(", ");
  if (memory != Memory::Tensor)
    for (const schedule::SmemRegion &region : info.map.smem)
      error << StringRef(separator) << region.name;
  if (memory != Memory::Shared)
    for (const schedule::TmemRegion &region : info.map.tmem)
      error << StringRef(separator) << region.name;
  return error << "), got " << (name.empty() ? "none" : name);
}

static StringRef nameOf(Operation *op) {
  RegionAttr region = regionOf(op);
  return region ? region.getName() : "";
}

Value Assigner::copy(Value tile, Attribute place) {
  return MoveOp::create(b, tile.getLoc(), typeOf(tile).withPlace(place), tile,
                        Value());
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Whether `use` reads an accumulator in place.
bool Assigner::takesInPlace(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<MoveOp>(op) || !isa<TileDialect>(op->getDialect()))
    return true;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<DotOp>([&](DotOp dot) { return dot.getAcc() == use.get(); })
      .Case<RescaleOp>([&](RescaleOp one) {
        return one.getInput() == use.get() && accumulators.contains(op);
      })
      .Case<NormalizeOp>(
          [&](NormalizeOp one) { return one.getInput() == use.get(); })
      .Case<WriteOp>(
          [&](WriteOp write) { return write.getValue() == use.get(); })
      .Default(false);
}

///   %s = tile.dot ... -> in tensor memory
///   %r = tile.move %s -> in registers, for arithmetic on it
void Assigner::copyToRegisters(Value product) {
  if (!isa<TileType>(product.getType()) || !typeOf(product).getTmem())
    return;
  auto wanted = [&](OpOperand &use) { return !takesInPlace(use); };
  if (llvm::none_of(product.getUses(), wanted))
    return;
  b.setInsertionPointAfterValue(product);
  Value copied = copy(product, wholeRegisters(typeOf(product)));
  product.replaceUsesWithIf(copied, wanted);
}

/// Sets the insertion point of a copy of `value`: after its definition, or, if
/// it is a result of a loop or branch, before `user`.
static void setInsertionPointFor(OpBuilder &b, Value value, Operation *user) {
  Operation *maker = value.getDefiningOp();
  if (maker && maker->getBlock() == user->getBlock() && isTileOp(maker))
    b.setInsertionPointAfter(maker);
  else
    b.setInsertionPoint(user);
}

/// Copies numbers of rows through shared memory to an accumulator's role.
LogicalResult Assigner::copyRows(Operation *op, Value tile, OpOperand &rows) {
  if (!tile || !(typeOf(tile).getTmem() || comesFromOtherRole(op, rows.get())))
    return success();
  PartitionAttr own = partitionOf(op);
  auto giveTo = [&](Operation *made) {
    if (own)
      setPartition(made, own);
  };
  // A constant is cloned before its user.
  if (auto fill = rows.get().getDefiningOp<FillOp>()) {
    b.setInsertionPoint(op);
    Operation *cloned = b.clone(*fill);
    giveTo(cloned);
    rows.set(cloned->getResult(0));
    return success();
  }
  RegionAttr region = regionOf(op);
  FailureOr<Attribute> place = regionFor(op, region ? region.getRows() : "",
                                         typeOf(rows.get()), Memory::Shared);
  if (failed(place))
    return failure();
  setInsertionPointFor(b, rows.get(), op);
  Value copied = copy(copy(rows.get(), *place), registers());
  giveTo(copied.getDefiningOp());
  rows.set(copied);
  return success();
}

/// Checks that TMA stores no columns that the tile does not have. It copies
/// whole panels and omits columns after the last one of the view.
static LogicalResult checkPanels(StoreOp op) {
  constexpr int64_t panel = layout::PanelTile::panelColumns;
  ViewOp view = op.getViewOp();
  TileType tile = typeOf(op.getValue());
  int64_t columns = view.getType().getShape().back();
  std::optional<int64_t> first =
      view.getColumn() ? getConstantIntValue(view.getColumn()) : 0;
  if (tile.getColumns() % panel == 0 ||
      tile.getColumns() + first.value_or(0) >= columns)
    return success();
  return op.emitOpError() << "expected panels of " << panel
                          << " columns, which TMA copies whole, or the last "
                             "columns of the view, got "
                          << tile
                          << "; store more columns at once, or blocks of them "
                             "to tensors of their own";
}

LogicalResult Assigner::copyStored(StoreOp op) {
  Value value = op.getValue();
  if (typeOf(value).getElementType().isF32())
    return op.emitOpError() << "expected a tile of f16 or bf16, which TMA "
                               "copies; tile.write stores f32";
  if (failed(checkPanels(op)))
    return failure();
  if (SmemAttr smem = typeOf(value).getSmem()) {
    if (smem.getOffset() % layout::PanelTile::alignment == 0)
      return success();
    return op.emitOpError() << "expected a slice that begins at a panel of 64 "
                               "columns, which TMA copies";
  }
  FailureOr<Attribute> place =
      regionFor(op, nameOf(op), typeOf(value), Memory::Shared);
  if (failed(place))
    return failure();
  setInsertionPointFor(b, value, op);
  op.getValueMutable().assign(copy(value, *place));
  return success();
}

/// Returns the first user of `op`, or `op` itself if a user is in another
/// block, or there is none.
static Operation *firstUser(Operation *op) {
  Operation *first = op;
  for (Operation *user : op->getUsers()) {
    if (user->getBlock() != op->getBlock())
      return op;
    if (first == op || user->isBeforeInBlock(first))
      first = user;
  }
  return first;
}

/// Returns the type of a tile that ends with the columns of `tile`, without a
/// place, and has `columns` before them. Null, after an error of `op`, if there
/// is no such tile.
static TileType withColumnsBefore(Operation *op, TileType tile,
                                  int64_t columns) {
  if (!columns)
    return tile.withPlace(Attribute());
  return TileType::getChecked(
      [&] { return op->emitOpError(); }, tile.getContext(),
      ArrayRef<int64_t>{tile.getRows(), columns + tile.getColumns()},
      tile.getElementType(), Attribute());
}

/// Assigns the place of the factor of a product: tensor memory, shared memory,
/// or registers, if the product can read those and no region is given.
LogicalResult Assigner::assignCast(CastOp op) {
  setPlace(op.getResult(), registers());
  RegionAttr region = regionOf(op);
  bool isNeeded = rules.productsInTmem ||
                  (region && findRegion(region.getName(), op.getType()));
  if (!isNeeded || !isFactor(op.getResult()))
    return success();
  int64_t column = region ? region.getColumn() : 0;
  TileType whole = withColumnsBefore(op, op.getType(), column);
  if (!whole)
    return failure();
  FailureOr<Attribute> place =
      regionFor(op, nameOf(op), whole,
                rules.productsInTmem ? Memory::Any : Memory::Shared);
  if (failed(place))
    return failure();
  bool isHandedOff = llvm::any_of(op->getUsers(), [&](Operation *user) {
    return roleOf(user) != roleOf(op);
  });
  if (rules.copiesAtUse && !isHandedOff && firstUser(op) != op)
    b.setInsertionPoint(firstUser(op));
  else
    b.setInsertionPointAfter(op);
  Value copied =
      copy(op.getResult(), whole.withPlace(*place).getPlaceOfColumn(column));
  op.getResult().replaceUsesWithIf(copied, [&](OpOperand &use) {
    return use.getOwner() != copied.getDefiningOp() &&
           !isa<StoreOp>(use.getOwner());
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Checks that the factors of a product are in places that the target can read,
/// and its accumulator in one that it can accumulate in.
static LogicalResult checkFactors(DotOp dot, const MemoryRules &rules) {
  if (!typeOf(dot.getB()).getSmem())
    return dot.emitOpError()
           << "expected a second factor that tile.load brings to shared "
              "memory, got "
           << dot.getB().getType()
           << "; a tile that threads compute may be the first one";
  if (!dot.getAcc())
    return success();
  TileType acc = typeOf(dot.getAcc());
  if (rules.productsInTmem ? acc.getTmem() != nullptr : acc.inFragments())
    return success();
  return dot.emitOpError() << "expected an accumulator that a tile.fill or "
                              "another product begins, got "
                           << acc;
}

/// A product has the place of its accumulator; one without an accumulator has
/// its own region.
LogicalResult Assigner::assignProduct(Operation *op) {
  Value result = op->getResult(0);
  auto dot = dyn_cast<DotOp>(op);
  if (dot && failed(checkFactors(dot, rules)))
    return failure();
  if (dot && dot.getAcc()) {
    setPlace(result, typeOf(dot.getAcc()).getPlace());
  } else if (rules.productsInTmem) {
    FailureOr<Attribute> place =
        regionFor(op, nameOf(op), typeOf(result), Memory::Tensor);
    if (failed(place))
      return failure();
    setPlace(result, *place);
  } else {
    setPlace(result, registers());
  }
  copyToRegisters(result);
  return success();
}

LogicalResult Assigner::assignSmem(Operation *op) {
  Value result = op->getResult(0);
  RegionAttr region = regionOf(op);
  int64_t column = region ? region.getColumn() : 0;
  TileType own = typeOf(result), whole = withColumnsBefore(op, own, column);
  if (!whole)
    return failure();
  FailureOr<Attribute> place = regionFor(op, nameOf(op), whole, Memory::Shared);
  if (failed(place))
    return failure();
  Attribute part =
      column ? whole.withPlace(*place).getPlaceOfColumn(column) : *place;
  if (failed(TileType::verify([&] { return op->emitOpError(); }, own.getShape(),
                              own.getElementType(), part)))
    return failure();
  setPlace(result, part);
  return success();
}

/// Checks that results have numbers of rows and columns that the target's
/// registers can hold.
LogicalResult Assigner::checkTiles(Operation *op) {
  if (isa<LoadOpInterface, LoadRotatedOp, SliceOp>(op))
    return success();
  for (Value result : op->getResults()) {
    auto tile = dyn_cast<TileType>(result.getType());
    if (!tile || (llvm::is_contained(rules.productRows, tile.getRows()) &&
                  (tile.getShape().size() == 1 ||
                   tile.getColumns() % rules.columnStep == 0)))
      continue;
    InFlightDiagnostic error = op->emitOpError() << "expected tiles of ";
    llvm::ListSeparator separator(" or ");
    for (int64_t rows : rules.productRows)
      error << StringRef(separator) << rows;
    return error << " rows and a multiple of " << rules.columnStep
                 << " columns, as the target's products have them, got "
                 << tile;
  }
  return success();
}

LogicalResult Assigner::assign(Operation *op) {
  if (failed(checkTiles(op)))
    return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<LoadOpInterface, LoadRotatedOp>(
          [&](auto) { return assignSmem(op); })
      .Case<SliceOp>([&](SliceOp slice) {
        setPlace(slice.getResult(), slice.getInput().getType().getPlaceOfColumn(
                                        slice.getColumn()));
        return success();
      })
      .Case<DotOp>([&](auto) { return assignProduct(op); })
      .Case<FillOp>([&](FillOp fill) -> LogicalResult {
        if (accumulators.contains(op)) {
          if (rules.productsInTmem && !fill.getValue().isZero())
            return op->emitOpError()
                   << "expected an accumulator that begins with 0, since no op "
                      "fills tensor memory";
          return assignProduct(op);
        }
        setPlace(fill.getResult(), registers());
        return success();
      })
      .Case<CastOp>([&](CastOp cast) { return assignCast(cast); })
      .Case<RescaleOp>([&](RescaleOp one) {
        setPlace(one.getResult(), one.getInput().getType().getPlace());
        return copyRows(op, one.getInput(), one.getAlphaMutable());
      })
      .Case<NormalizeOp>([&](NormalizeOp one) {
        return success(
            succeeded(assignSmem(op)) &&
            succeeded(copyRows(op, one.getInput(), one.getSumMutable())));
      })
      .Case<WriteOp>([&](WriteOp one) {
        return one.getSum()
                   ? copyRows(op, one.getValue(), *one.getSumMutable().begin())
                   : success();
      })
      .Case<StoreOp>([&](StoreOp store) { return copyStored(store); })
      .Case<JoinOp>([&](JoinOp join) -> LogicalResult {
        for (Value input : join.getInputs())
          if (typeOf(input).getSmem())
            return op->emitOpError()
                   << "expected tiles that threads compute, got "
                   << input.getType() << "; load all columns at once";
        setPlace(join.getResult(), wholeRegisters(join.getType()));
        return success();
      })
      .Case<ScaleOp, ScaleByOp, ScaleColumnsOp, ModifyOp, MaskOp, Exp2Op>(
          [&](auto one) {
            setPlace(one.getResult(), one.getInput().getType().getPlace());
            return success();
          })
      .Default([&](Operation *other) {
        for (Value result : other->getResults())
          if (isa<TileType>(result.getType()))
            setPlace(result, registers());
        return success();
      });
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

/// Checks that `left` and `right`, which become one tile, have the same place.
static LogicalResult expectOnePlace(Operation *op, Value left, Value right) {
  if (left.getType() == right.getType())
    return success();
  return op->emitOpError() << "expected a tile in one place on all ways, got "
                           << left.getType() << " and " << right.getType()
                           << "; let products with one tile.region make both, "
                              "or store each where it is made";
}

/// A tile that a loop carries has the place of its initial value.
LogicalResult Assigner::assignLoop(scf::ForOp loop) {
  for (auto [init, arg, result] : llvm::zip(
           loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    arg.setType(init.getType());
    result.setType(init.getType());
  }
  for (Value arg : loop.getRegionIterArgs())
    copyToRegisters(arg);
  if (failed(assignBlock(*loop.getBody())))
    return failure();
  for (auto [init, yielded] :
       llvm::zip(loop.getInitArgs(), loop.getYieldedValues()))
    if (failed(expectOnePlace(loop, init, yielded)))
      return failure();
  for (Value result : loop.getResults())
    copyToRegisters(result);
  return success();
}

LogicalResult Assigner::assignBranch(scf::IfOp branch) {
  if (failed(assignBlock(*branch.thenBlock())))
    return failure();
  if (branch.elseBlock() && failed(assignBlock(*branch.elseBlock())))
    return failure();
  if (!branch.getNumResults())
    return success();
  for (auto [result, left, right] :
       llvm::zip(branch.getResults(), branch.thenYield().getOperands(),
                 branch.elseYield().getOperands())) {
    if (failed(expectOnePlace(branch, left, right)))
      return failure();
    result.setType(left.getType());
    copyToRegisters(result);
  }
  return success();
}

/// Checks that there are tiles in no other control flow than scf.for and
/// scf.if, which later passes support.
static LogicalResult checkForeign(Operation *op) {
  WalkResult walked = op->walk([&](Operation *inner) {
    if (!isTileOp(inner))
      return WalkResult::advance();
    inner->emitOpError() << "expected only scf.for and scf.if around ops on "
                            "tiles, got "
                         << op->getName();
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult Assigner::assignBlock(Block &block) {
  // Copies are inserted between the ops, and have places already.
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops) {
    LogicalResult done =
        llvm::TypeSwitch<Operation *, LogicalResult>(op)
            .Case<scf::ForOp>([&](auto loop) { return assignLoop(loop); })
            .Case<scf::IfOp>([&](auto branch) { return assignBranch(branch); })
            .Default([&](Operation *other) {
              return isa_and_nonnull<TileDialect>(other->getDialect())
                         ? assign(other)
                         : checkForeign(other);
            });
    if (failed(done))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct TileAssignMemoryPass
    : public fmha::tile::impl::TileAssignMemoryBase<TileAssignMemoryPass> {
  void runOnOperation() override {
    gpu::GPUFuncOp func = getOperation();
    if (!isTiledKernel(func))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(func);
    if (failed(info) ||
        failed(expectStage(func, KernelStage::Tiled, getArgument())))
      return signalPassFailure();
    if (info->isProgram) {
      if (failed(layOutProgram(func, familyOf(info->schedule))))
        return signalPassFailure();
      info = readKernelInfo(func);
    }
    if (failed(info) || failed(Assigner(func, *info).run()))
      return signalPassFailure();
    func.walk([](Operation *op) { op->removeAttr("tile.region"); });
  }
};

} // namespace
