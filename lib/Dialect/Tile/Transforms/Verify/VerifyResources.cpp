//===- VerifyResources.cpp - Check that a placed kernel fits its target ---===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Schedule/Rules/Capacities.h"
#include "fmha/Target/Target.h"

#include "mlir/Analysis/Liveness.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEVERIFYRESOURCES
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using namespace fmha::schedule::capacities;

namespace {

using target::warpThreads;

/// Returns the place of a tile, of one stage or of the whole ring; nothing for
/// registers.
std::optional<Place> placeOf(TileType type, bool ring) {
  Place place;
  if (SmemAttr smem = type.getSmem()) {
    place.name = "a tile in bytes";
    place.begin = smem.getOffset();
    // A slice may begin inside a panel, of which it occupies parts of rows.
    place.end = place.begin / 128 * 128 + type.getBytes() +
                (ring ? type.getStagePitch() * (smem.getStages() - 1) : 0);
    // The alignment of a K step, at which a slice may begin inside a panel, or
    // of an f32. The verifier of the type checks that of whole tiles.
    place.alignment = type.getShape().size() == 2 ? 32 : 4;
    return place;
  }
  TmemAttr tmem = type.getTmem();
  if (!tmem)
    return std::nullopt;
  place.memory = Memory::Tensor;
  place.name = "a tile in columns";
  place.begin = tmem.getColumn();
  place.end = place.begin + type.getTmemColumns() +
              (ring ? type.getStagePitch() * (tmem.getStages() - 1) : 0);
  return place;
}

class Collector {
public:
  explicit Collector(gpu::GPUFuncOp func) : func(func) {
    schedule::Schedule schedule = scheduleOf(func);
    demand.target = schedule.target;
    demand.ctasPerSm = schedule.ctasPerSm;
    demand.launch = number(func);
    if (std::optional<ArrayRef<int32_t>> size = func.getKnownBlockSize())
      demand.threads = (*size)[0] * (*size)[1] * (*size)[2];
    else
      for (const schedule::Role &role : schedule.roles)
        demand.threads = std::max(demand.threads,
                                  (role.firstWarp + role.warps) * warpThreads);
  }

  Demand collect(bool sequential) {
    func.walk([&](Operation *op) { add(op); });
    if (sequential)
      findClobbers();
    return std::move(demand);
  }
  Operation *opOf(uint32_t source) const { return ops[source]; }

private:
  uint32_t number(Operation *op) {
    if (ops.empty() || ops.back() != op)
      ops.push_back(op);
    return ops.size() - 1;
  }
  void add(Operation *op);
  void addTiles(Operation *op);
  void addColumns(TmemAddressOp op);
  void addRole(StringRef name, unsigned first, unsigned last,
               unsigned registers, unsigned before, Operation *op);
  void findClobbers();
  void findClobbersOf(OpResult written, const Liveness &liveness);

  gpu::GPUFuncOp func;
  Demand demand;
  std::vector<Operation *> ops;
  llvm::DenseSet<Type> seen;
  /// Tiles in memory, in program order.
  SmallVector<Value> tiles;
};

} // namespace

/// Adds the places of the tiles of `op`, once for each type.
void Collector::addTiles(Operation *op) {
  SmallVector<Value> values(op->getResults());
  if (auto loop = dyn_cast<scf::ForOp>(op))
    llvm::append_range(values, loop.getRegionIterArgs());
  for (Value result : values) {
    Type type = result.getType();
    if (auto channel = dyn_cast<ChannelType>(type))
      type = channel.getTile();
    auto tile = dyn_cast<TileType>(type);
    std::optional<Place> place;
    if (tile)
      place = placeOf(tile, /*ring=*/true);
    if (!place)
      continue;
    if (isa<TileType>(result.getType()))
      tiles.push_back(result);
    if (!seen.insert(type).second)
      continue;
    place->source = number(op);
    demand.tiles.push_back(*place);
  }
}

/// Adds the columns that loads and stores access from this address.
void Collector::addColumns(TmemAddressOp op) {
  Place place{Memory::Tensor, "columns", op.getColumn(), op.getColumn() + 1u};
  for (Operation *user : op->getUsers())
    if (auto sync = dyn_cast<SyncOpInterface>(user)) {
      SmallVector<SyncEffect, 8> effects;
      sync.getSyncEffects(effects);
      for (const SyncEffect &effect : effects)
        if (effect.address == op.getResult())
          place.end = std::max<uint64_t>(
              place.end, op.getColumn() + effect.offset + effect.extent);
    }
  place.source = number(op);
  demand.tiles.push_back(place);
}

void Collector::addRole(StringRef name, unsigned first, unsigned last,
                        unsigned registers, unsigned before, Operation *op) {
  demand.warps.push_back(
      {name.str(), first, last, registers, before, number(op)});
}

void Collector::add(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<BarrierOp>([&](BarrierOp barrier) {
        uint64_t begin = barrier.getOffset();
        demand.barriers.push_back(
            {Memory::Shared, '"' + barrier.getName().str() + '"', begin,
             begin + 8 * barrier.getType().getCount(), 8, number(op)});
      })
      .Case<TmemAllocOp>([&](TmemAllocOp alloc) {
        demand.allocations.push_back({alloc.getColumns(), number(op)});
        demand.tiles.push_back({Memory::Shared, "the allocation's base",
                                alloc.getOffset(), alloc.getOffset() + 4u, 4,
                                number(op)});
      })
      .Case<TryCancelOp>([&](TryCancelOp request) {
        demand.tiles.push_back({Memory::Shared, "the response of try_cancel",
                                request.getOffset(), request.getOffset() + 16u,
                                16, number(op)});
      })
      .Case<SetNextTileOp>([&](SetNextTileOp set) {
        demand.tiles.push_back({Memory::Shared, "the number of the next tile",
                                set.getOffset(), set.getOffset() + 4u, 4,
                                number(op)});
      })
      .Case<TmemDeallocOp>([&](TmemDeallocOp dealloc) {
        demand.deallocations.push_back({dealloc.getColumns(), number(op)});
      })
      .Case<TmemAddressOp>([&](TmemAddressOp address) { addColumns(address); })
      .Case<RoleOp>([&](RoleOp role) {
        addRole(("role \"" + role.getName() + "\"").str(), role.getFirstWarp(),
                role.getLastWarp(), role.getRegisters(), 0, op);
      })
      .Case<SetRegistersOp>([&](SetRegistersOp set) {
        // The order of the warpgroups does not matter.
        unsigned group = demand.warps.size();
        addRole("set_registers", group * target::warpgroupWarps,
                (group + 1) * target::warpgroupWarps, set.getCount(),
                set.getPrevious(), op);
      })
      .Case<SyncCtaOp>(
          [&](auto) { demand.namedBarriers.push_back({0, number(op)}); })
      .Case<SyncNamedOp, ArriveNamedOp>([&](auto named) {
        demand.namedBarriers.push_back({named.getBarrier(), number(op)});
      })
      .Default([&](Operation *other) { addTiles(other); });
}

/// Whether `tile` is in a ring: loads in a loop use its slots in turn, even if
/// there is only one stage.
static bool isInRing(Value tile) {
  Operation *maker = tile.getDefiningOp();
  if (auto slice = dyn_cast_or_null<SliceOp>(maker))
    return isInRing(slice.getInput());
  return isa_and_nonnull<LoadOpInterface>(maker) &&
         maker->getParentOfType<scf::ForOp>();
}

/// Whether a tile in tensor memory has several stages.
static bool hasTmemStages(TileType type) {
  return type.getTmem() && type.getStages() > 1;
}

/// Whether two tiles in tensor memory have lanes in common: those of 64 rows
/// are in one half of every warp's lanes, others in both.
static bool shareLanes(TileType a, TileType b) {
  return !a.hasHalfLanes() || !b.hasHalfLanes() ||
         a.getTmem().getLane() == b.getTmem().getLane();
}

/// Returns the bytes [first, second) of the 128-byte rows of shared memory that
/// a tile occupies. The swizzle moves bytes only inside a row, depending on its
/// address, so that strips of disjoint columns do not overlap. A load writes
/// whole rows.
static std::pair<int64_t, int64_t> rowBytesOf(Value tile) {
  constexpr int64_t rowBytes = 128;
  auto type = cast<TileType>(tile.getType());
  bool inPanels = type.getShape().size() == 2 &&
                  type.getElementType().getIntOrFloatBitWidth() == 16;
  if (!inPanels || isa_and_nonnull<LoadOp>(tile.getDefiningOp()))
    return {0, rowBytes};
  int64_t first = type.getSmem().getOffset() % rowBytes;
  int64_t end = first + 2 * type.getColumns();
  return end > rowBytes ? std::pair(int64_t(0), rowBytes)
                        : std::pair(first, end);
}

/// Whether two tiles share bytes of a row; tiles in different columns of one
/// panel do not.
static bool shareRowBytes(Value a, Value b) {
  if (!cast<TileType>(a.getType()).getSmem() ||
      !cast<TileType>(b.getType()).getSmem())
    return true;
  auto [firstA, endA] = rowBytesOf(a);
  auto [firstB, endB] = rowBytesOf(b);
  return firstA < endB && firstB < endA;
}

/// Returns the op that defines the tile, or, for an argument, the loop.
static Operation *makerOf(Value tile) {
  if (Operation *maker = tile.getDefiningOp())
    return maker;
  return tile.getParentBlock()->getParentOp();
}

static std::string nameOf(Value tile) {
  std::string text = isa<OpResult>(tile) ? "the result of " : "an argument of ";
  text += makerOf(tile)->getName().getStringRef();
  auto type = cast<TileType>(tile.getType());
  if (!type.hasHalfLanes())
    return text;
  std::string lanes = type.getTmem().getLane() ? "16 to 31" : "0 to 15";
  return "lanes " + lanes + " of " + text;
}

static bool isMadeBefore(Value value, Operation *op) {
  Operation *there = value.getParentBlock()->findAncestorOpInBlock(*op);
  Operation *maker = value.getDefiningOp();
  return there && (!maker || maker->isBeforeInBlock(there));
}

/// Reports a tile that is used after the op that overwrites its place. Slots of
/// a ring are not checked, because the channels assign them later.
void Collector::findClobbersOf(OpResult written, const Liveness &liveness) {
  Operation *op = written.getOwner();
  auto type = cast<TileType>(written.getType());
  if (isa<SliceOp>(op))
    return;
  bool ring = isInRing(written);
  auto isOver = [&](Value other) {
    auto otherType = cast<TileType>(other.getType());
    bool otherRing = isInRing(other);
    // Of two tiles with stages in tensor memory, both are in the same stage.
    bool staged = hasTmemStages(type) && hasTmemStages(otherType);
    Place place = *placeOf(type, !staged && (ring || hasTmemStages(type)));
    std::optional<Place> there =
        placeOf(otherType, !staged && (otherRing || hasTmemStages(otherType)));
    return other != written && !(ring && otherRing) &&
           there->memory == place.memory && there->begin < place.end &&
           place.begin < there->end && shareLanes(type, otherType) &&
           shareRowBytes(written, other) && isMadeBefore(other, op) &&
           !liveness.isDeadAfter(other, op);
  };
  auto found = llvm::find_if(tiles, isOver);
  if (found == tiles.end())
    return;
  Place place = *placeOf(type, ring);
  demand.clobbers.push_back({nameOf(*found), place.memory, place.begin,
                             place.end, number(op), number(makerOf(*found))});
}

void Collector::findClobbers() {
  Liveness liveness(func);
  for (Value tile : tiles)
    if (auto result = dyn_cast<OpResult>(tile);
        result && !isa<scf::ForOp, scf::IfOp>(result.getOwner()))
      findClobbersOf(result, liveness);
}

namespace {

LogicalResult verify(gpu::GPUFuncOp func, bool sequential) {
  Collector collector(func);
  Demand demand = collector.collect(sequential);
  std::vector<Complaint> complaints = schedule::capacities::check(demand);
  for (const Complaint &complaint : complaints) {
    InFlightDiagnostic error = collector.opOf(complaint.source)->emitError()
                               << complaint.text;
    if (complaint.other)
      error.attachNote(collector.opOf(*complaint.other)->getLoc())
          << "the other op is here";
  }
  return success(complaints.empty());
}

struct TileVerifyResourcesPass
    : public fmha::tile::impl::TileVerifyResourcesBase<
          TileVerifyResourcesPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    std::optional<KernelStage> stage = stageOf(getOperation());
    if (!isTiledKernel(getOperation()) || !stage || stage == KernelStage::Tiled)
      return;
    if (failed(verify(getOperation(), stage == KernelStage::Placed)))
      signalPassFailure();
  }
};

} // namespace
