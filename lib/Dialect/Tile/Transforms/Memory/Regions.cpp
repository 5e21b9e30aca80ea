//===- Regions.cpp - The memory regions of a program's ops ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/Regions.h"
#include "Memory/MemoryPlan.h"
#include "Partition/TileFlow.h"
#include "fmha/Layout/SmemTile.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

RegionAttr tile::regionOf(Operation *op) {
  return op->getAttrOfType<RegionAttr>("tile.region");
}

//===----------------------------------------------------------------------===//
// Accumulators and factors
//===----------------------------------------------------------------------===//

llvm::DenseSet<Operation *> tile::accumulatorsOf(gpu::GPUFuncOp func) {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> work;
  func.walk([&](DotOp dot) {
    if (dot.getAcc())
      work.push_back(dot.getAcc());
  });
  while (!work.empty())
    for (TileSource &source : sourcesOf(work.pop_back_val()))
      if (seen.insert(source.op()).second)
        if (auto rescale = dyn_cast<RescaleOp>(source.op()))
          work.push_back(rescale.getInput());
  return seen;
}

bool tile::isProduct(Value value,
                     const llvm::DenseSet<Operation *> &accumulators) {
  return llvm::any_of(sourcesOf(value), [&](const TileSource &source) {
    return isa<DotOp>(source.op()) || accumulators.contains(source.op());
  });
}

bool tile::isFactor(Value tile) {
  return llvm::any_of(tile.getUsers(), [&](Operation *user) {
    if (auto slice = dyn_cast<SliceOp>(user))
      return isFactor(slice.getResult());
    auto dot = dyn_cast<DotOp>(user);
    return dot && dot.getA() == tile;
  });
}

//===----------------------------------------------------------------------===//
// Requests of ops
//===----------------------------------------------------------------------===//

namespace {

struct Request {
  bool isTmem = false, isRing = false;
  /// Bytes, or columns.
  uint64_t size = 0;
  unsigned alignment = 0;
};

class RegionNamer {
public:
  RegionNamer(gpu::GPUFuncOp func, const MemoryRules &rules)
      : func(func), rules(rules), accumulators(accumulatorsOf(func)) {}
  LogicalResult run();

  /// By name, in the order of the program.
  llvm::MapVector<StringRef, Request> requests;

private:
  static Request inSmem(TileType type, Operation *op);
  static Request inTmem(TileType type, unsigned column = 0);
  std::optional<Request> ofResult(Operation *op);
  std::optional<Request> ofRows(Operation *op);
  FailureOr<StringRef> add(StringRef name, Operation *op,
                           const Request &request);

  gpu::GPUFuncOp func;
  const MemoryRules &rules;
  llvm::DenseSet<Operation *> accumulators;
  unsigned count = 0;
};

/// Returns the request for a tile in shared memory. Loads in a loop get a ring,
/// so that those of later iterations can begin.
Request RegionNamer::inSmem(TileType type, Operation *op) {
  constexpr unsigned rowAlignment = 16;
  Request request;
  request.size = type.getBytes();
  request.isRing =
      isa<LoadOpInterface>(op) && op->getParentOfType<scf::ForOp>();
  request.alignment =
      type.getShape().size() == 2 ? layout::PanelTile::alignment : rowAlignment;
  return request;
}

/// Returns the request for a tile in tensor memory that begins at column
/// `column` of its region.
Request RegionNamer::inTmem(TileType type, unsigned column) {
  Request request;
  request.isTmem = true;
  request.size =
      type.getTmemColumns() * (column + type.getColumns()) / type.getColumns();
  return request;
}

/// Returns the memory of the result of `op`, or of the tile that it stores.
std::optional<Request> RegionNamer::ofResult(Operation *op) {
  using Answer = std::optional<Request>;
  return llvm::TypeSwitch<Operation *, Answer>(op)
      .Case<LoadOpInterface, NormalizeOp>([&](auto) {
        return inSmem(cast<TileType>(op->getResult(0).getType()), op);
      })
      .Case<StoreOp>([&](StoreOp store) -> Answer {
        // The tile is in shared memory already.
        if (isa_and_nonnull<NormalizeOp, LoadOp, SliceOp>(
                store.getValue().getDefiningOp()))
          return std::nullopt;
        return inSmem(store.getValue().getType(), op);
      })
      .Case<DotOp>([&](DotOp dot) -> Answer {
        if (!rules.productsInTmem || dot.getAcc())
          return std::nullopt;
        return inTmem(dot.getType());
      })
      .Case<FillOp>([&](FillOp fill) -> Answer {
        if (!rules.productsInTmem || !accumulators.contains(op))
          return std::nullopt;
        return inTmem(fill.getType());
      })
      .Case<CastOp>([&](CastOp cast) -> Answer {
        RegionAttr region = regionOf(op);
        if (!isFactor(cast.getResult()))
          return std::nullopt;
        if (rules.productsInTmem)
          return inTmem(cast.getType(), region ? region.getColumn() : 0);
        // The factor stays in registers, unless the program names a region.
        return region ? Answer(inSmem(cast.getType(), op)) : std::nullopt;
      })
      .Default(std::nullopt);
}

/// Returns the memory through which one number per row reaches `op`.
std::optional<Request> RegionNamer::ofRows(Operation *op) {
  if (!rules.productsInTmem)
    return std::nullopt;
  auto of = [&](Value tile, Value rows) -> std::optional<Request> {
    if (!tile || !rows || !isProduct(tile, accumulators) ||
        rows.getDefiningOp<FillOp>())
      return std::nullopt;
    return inSmem(cast<TileType>(rows.getType()), op);
  };
  return llvm::TypeSwitch<Operation *, std::optional<Request>>(op)
      .Case<RescaleOp>([&](RescaleOp one) -> std::optional<Request> {
        if (!accumulators.contains(op))
          return std::nullopt;
        return of(one.getInput(), one.getAlpha());
      })
      .Case<NormalizeOp>(
          [&](NormalizeOp one) { return of(one.getInput(), one.getSum()); })
      .Case<WriteOp>(
          [&](WriteOp one) { return of(one.getValue(), one.getSum()); })
      .Default(std::nullopt);
}

/// Adds a request for the region `name`, or for a new one with a name made from
/// that of `op`. Returns its name. Errors: the name is reserved for the kernel,
/// or is that of a region of the other memory.
FailureOr<StringRef> RegionNamer::add(StringRef name, Operation *op,
                                      const Request &request) {
  if (name == "barriers" || name == "tmem_address")
    return op->emitOpError() << "expected the name of a region of tiles, got \""
                             << name << "\", which every kernel has";
  if (name.empty())
    name = StringAttr::get(op->getContext(),
                           op->getName().stripDialect() + Twine(count++))
               .getValue();
  auto [known, isNew] = requests.insert({name, request});
  Request &all = known->second;
  if (all.isTmem != request.isTmem)
    return op->emitOpError()
           << "works in " << (request.isTmem ? "tensor" : "shared")
           << " memory: expected the name of another region, got \"" << name
           << "\", which an op uses in the other memory";
  all.isRing |= request.isRing;
  all.size = std::max(all.size, request.size);
  all.alignment = std::max(all.alignment, request.alignment);
  return name;
}

LogicalResult RegionNamer::run() {
  WalkResult walked = func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    std::optional<Request> result = ofResult(op), rows = ofRows(op);
    if (!result && !rows)
      return WalkResult::advance();
    RegionAttr given = regionOf(op);
    FailureOr<StringRef> name(given ? given.getName() : "");
    FailureOr<StringRef> rowsName(given ? given.getRows() : "");
    if (result)
      name = add(*name, op, *result);
    if (rows)
      rowsName = add(*rowsName, op, *rows);
    if (failed(name) || failed(rowsName))
      return WalkResult::interrupt();
    op->setAttr("tile.region",
                RegionAttr::get(op->getContext(), *name,
                                given ? given.getColumn() : 0, *rowsName));
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

ArrayAttr toAttribute(const schedule::MemoryMap &map, MLIRContext *ctx) {
  SmallVector<Attribute> extents;
  for (const schedule::SmemRegion &region : map.smem)
    extents.push_back(ExtentAttr::get(
        ctx, region.name,
        SmemAttr::get(ctx, region.offset, region.stages, /*pitch=*/0),
        region.bytes));
  for (const schedule::TmemRegion &region : map.tmem)
    extents.push_back(
        ExtentAttr::get(ctx, region.name,
                        TmemAttr::get(ctx, region.column, region.lane,
                                      region.stages, region.pitch, /*half=*/0),
                        region.columns));
  return ArrayAttr::get(ctx, extents);
}

} // namespace

//===----------------------------------------------------------------------===//
// Boxes of operands
//===----------------------------------------------------------------------===//

namespace {
/// The boxes in which TMA copies tiles from or to one operand.
struct OperandUse {
  int32_t rows = 0;
  /// The copies end with the rows of a view, not with those of the tensor.
  bool endsByView = false;
  bool isLoaded = false, isStored = false;
};
} // namespace

/// Returns whether the tensor map ends with the rows of a view.
static bool endsByView(ViewOp view) {
  return (view.getPages() || view.getStart()) && !view.getList();
}

/// Returns the rows of a box: all of `tile`, as many as lie in one page, or a
/// listed one.
static int64_t boxRowsOf(ViewOp view, TileType tile) {
  if (view.getList())
    return 1;
  return view.getPages() ? std::gcd(tile.getRows(), view.getPageSize())
                         : tile.getRows();
}

/// Checks that one tensor map can copy the boxes of `op` and those of `use`,
/// the earlier ops on operand `number`.
static LogicalResult checkBox(Operation *op, ViewOp view, unsigned number,
                              int64_t rows, const OperandUse &use) {
  constexpr int64_t mostRows = 256;
  if (rows > mostRows)
    return op->emitOpError()
           << "expected at most " << mostRows
           << " rows, which a tensor map copies at once, got " << rows;
  if (use.rows && use.rows != rows && view.getPages())
    return op->emitOpError()
           << "expected boxes of " << use.rows
           << " rows, as another op on operand " << number << " has, got "
           << rows
           << ", the greatest common divisor of the rows of the tile and of a "
              "page; load tiles for which it is the same, or pass the tensor "
              "as two operands";
  if (use.rows && use.rows != rows)
    return op->emitOpError()
           << "expected tiles of " << use.rows
           << " rows, as another op on operand " << number << " has, got "
           << rows << "; pass the tensor as two operands";
  bool ends = endsByView(view);
  if (use.rows && use.endsByView != ends)
    return op->emitOpError()
           << "expected a view " << (use.endsByView ? "with" : "without")
           << " from or pages, as another op on operand " << number
           << " has, got one " << (ends ? "with" : "without")
           << "; pass the tensor as two operands";
  return success();
}

namespace {
/// A row modulo the rows of a box: `base` and multiples of other numbers.
class RowOfBox {
public:
  RowOfBox(Value row, int64_t boxRows) : boxRows(boxRows) { add(row, 1); }

  /// Returns a remainder that some tile has; 0 if none follows from the
  /// constants.
  int64_t remainder() const;

private:
  void add(Value value, int64_t factor, unsigned depth = 0);
  void addLeaf(Value value, int64_t factor, unsigned depth);

  int64_t boxRows, base = 0;
  /// Factors of numbers that are not known, and of those of them that take all
  /// values from 0 on: indices of loops and CTAs.
  llvm::SmallMapVector<Value, int64_t, 4> others, counters;
};
} // namespace

/// Adds `value` times `factor`, where `value` is no sum or product.
void RowOfBox::addLeaf(Value value, int64_t factor, unsigned depth) {
  auto plus = [&](int64_t sum, int64_t more) { return (sum + more) % boxRows; };
  if (std::optional<int64_t> known = getConstantIntValue(value)) {
    int64_t rest = *known % boxRows;
    base = plus(base, (rest + boxRows) * factor);
    return;
  }
  auto loop = scf::getForInductionVarOwner(value);
  std::optional<int64_t> step;
  if (loop)
    step = getConstantIntValue(loop.getStep());
  if (step) {
    add(loop.getLowerBound(), factor, depth + 1);
    counters[value] =
        plus(counters[value], (*step % boxRows + boxRows) * factor);
  } else if (value.getDefiningOp<gpu::BlockIdOp>()) {
    counters[value] = plus(counters[value], factor);
  } else {
    others[value] = plus(others[value], factor);
  }
}

/// Adds `value` times `factor`.
void RowOfBox::add(Value value, int64_t factor, unsigned depth) {
  // A sum of sums has twice as many terms at each level.
  constexpr unsigned deepest = 8;
  Operation *op = value.getDefiningOp();
  if (depth == deepest)
    op = nullptr;
  if (isa_and_nonnull<arith::IndexCastOp>(op))
    return add(op->getOperand(0), factor, depth + 1);
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    add(op->getOperand(0), factor, depth + 1);
    return add(op->getOperand(1),
               isa<arith::AddIOp>(op) ? factor : boxRows - factor, depth + 1);
  }
  if (isa_and_nonnull<arith::MulIOp>(op))
    for (unsigned n : {0, 1})
      if (auto by = getConstantIntValue(op->getOperand(n)))
        return add(op->getOperand(1 - n),
                   (*by % boxRows + boxRows) * factor % boxRows, depth + 1);
  addLeaf(value, factor, depth);
}

int64_t RowOfBox::remainder() const {
  for (auto [counter, factor] : counters)
    if (factor)
      return factor;
  int64_t known = boxRows;
  for (auto [other, factor] : others)
    known = std::gcd(known, factor);
  return base % known;
}

/// Checks that tiles of `op`, with first row `row`, begin with a box of a page.
static LogicalResult checkFirstRow(Operation *op, Value row, int64_t boxRows) {
  int64_t remainder = RowOfBox(row, boxRows).remainder();
  if (!remainder)
    return success();
  return op->emitOpError()
         << "expected a first row that is a multiple of " << boxRows
         << ", because a box of " << boxRows
         << " rows must lie in one page, got a remainder of " << remainder
         << "; begin tiles at such rows, or load tiles of fewer rows";
}

/// Adds the use of operand `source` by `op`. Errors: another op has other
/// boxes, or copies in the other direction, which no barrier orders.
static LogicalResult addUse(Operation *op, ViewOp view, BlockArgument source,
                            TileType tile, OperandUse &use) {
  int64_t rows = boxRowsOf(view, tile);
  if (failed(checkBox(op, view, source.getArgNumber(), rows, use)))
    return failure();
  use.rows = rows;
  use.endsByView = endsByView(view);
  use.isLoaded |= isa<LoadOp>(op);
  use.isStored |= isa<StoreOp>(op);
  if (use.isLoaded && use.isStored)
    return op->emitOpError() << "expected operand " << source.getArgNumber()
                             << " to be loaded or stored, got both: roles do "
                                "not wait for each other's copies";
  return success();
}

/// Returns the boxes of each operand.
static FailureOr<SmallVector<OperandUse>> boxesOf(gpu::GPUFuncOp func) {
  SmallVector<OperandUse> uses(func.getNumArguments());
  auto add = [&](auto op, TileType tile) -> LogicalResult {
    ViewOp view = op.getViewOp();
    for (Value source : {view.getSource(), view.getOther()}) {
      if (!source)
        continue;
      auto operand = dyn_cast<BlockArgument>(source);
      if (!operand || operand.getOwner() != &func.getBody().front())
        return op.emitOpError() << "expected a view of an operand of the "
                                   "kernel, which a tensor map describes";
      if (failed(addUse(op, view, operand, tile, uses[operand.getArgNumber()])))
        return failure();
    }
    return view.getPages() && !view.getList()
               ? checkFirstRow(op, op.getRow(), boxRowsOf(view, tile))
               : success();
  };
  WalkResult walked = func.walk([&](Operation *op) {
    LogicalResult added = success();
    if (auto load = dyn_cast<LoadOp>(op))
      added = add(load, load.getType());
    if (auto store = dyn_cast<StoreOp>(op))
      added = add(store, store.getValue().getType());
    return failed(added) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  return uses;
}

/// Adds the memory map and the boxes to `tile.kernel`.
static void setMemory(gpu::GPUFuncOp func, ArrayAttr memory,
                      ArrayRef<OperandUse> uses) {
  MLIRContext *ctx = func.getContext();
  auto kernel = func->getAttrOfType<KernelAttr>("tile.kernel");
  auto rows =
      llvm::map_to_vector(uses, [](const OperandUse &use) { return use.rows; });
  auto ends = llvm::map_to_vector(
      uses, [](const OperandUse &use) { return use.endsByView; });
  DenseBoolArrayAttr sequences;
  if (llvm::is_contained(ends, true))
    sequences = DenseBoolArrayAttr::get(ctx, ends);
  func->setAttr("tile.kernel",
                KernelAttr::get(ctx, kernel.getTarget(), memory,
                                DenseI32ArrayAttr::get(ctx, rows), sequences,
                                kernel.getRoles()));
}

//===----------------------------------------------------------------------===//
// The memory of a program
//===----------------------------------------------------------------------===//

/// Clones a fill that is the initial value of several accumulators, because
/// each accumulator has its own columns.
static void splitFills(gpu::GPUFuncOp func) {
  for (Operation *fill : accumulatorsOf(func)) {
    if (!isa<FillOp>(fill))
      continue;
    auto uses = llvm::make_early_inc_range(llvm::drop_begin(fill->getUses()));
    for (OpOperand &use : uses)
      use.set(OpBuilder(fill).clone(*fill)->getResult(0));
  }
}

/// Whether `tile`, or a slice of it, is a factor of a product.
static bool isMultiplied(Value tile) {
  return llvm::any_of(tile.getUsers(), [](Operation *user) {
    auto slice = dyn_cast<SliceOp>(user);
    return isa<DotOp>(user) || (slice && isMultiplied(slice.getResult()));
  });
}

/// Returns `tile` from a second load, which is added to `loads`, if products
/// use the tile that it is loaded as or sliced from; otherwise null.
static Value loadAgain(Value tile, llvm::DenseMap<Operation *, Value> &loads) {
  if (auto slice = tile.getDefiningOp<SliceOp>()) {
    Value whole = loadAgain(slice.getInput(), loads);
    if (!whole)
      return {};
    auto own = cast<SliceOp>(OpBuilder(slice).clone(*slice));
    own.getInputMutable().assign(whole);
    return own.getResult();
  }
  auto load = tile.getDefiningOp<LoadOp>();
  if (!load || !isMultiplied(tile))
    return {};
  Value &again = loads[load];
  if (!again) {
    Operation *own = OpBuilder(load).clone(*load);
    own->removeAttr("tile.region");
    again = own->getResult(0);
  }
  return again;
}

/// Loads a tile that is both multiplied and stored once for each of the two.
/// Products and stores signal in different ways that memory is free, and a ring
/// supports only one of them.
static void splitLoads(gpu::GPUFuncOp func) {
  llvm::DenseMap<Operation *, Value> loads;
  func.walk([&](StoreOp store) {
    if (Value own = loadAgain(store.getValue(), loads))
      store.getValueMutable().assign(own);
  });
}

/// Checks a memory map that was written by hand: it has the regions of the
/// kernel itself, and no other region overlaps these.
static LogicalResult checkGivenMap(gpu::GPUFuncOp func) {
  FailureOr<KernelInfo> info = readKernelInfo(func);
  if (failed(info))
    return failure();
  for (StringRef name : {"barriers", "tmem_address"}) {
    bool isNeeded = name == "barriers" || info->map.tmemColumns;
    const schedule::SmemRegion *own = info->map.findSmem(name.str());
    if (isNeeded && !own)
      return func.emitError() << "expected a region \"" << name
                              << "\" in the memory map of tile.kernel";
    for (const schedule::SmemRegion &other : info->map.smem)
      if (own && &other != own &&
          other.offset < own->offset + own->bytes * own->stages &&
          own->offset < other.offset + other.bytes * other.stages)
        return func.emitError()
               << "expected region \"" << name
               << "\" to share no bytes with another one, got \"" << other.name
               << "\" over it";
  }
  return success();
}

/// Returns the memory map of `func`.
static FailureOr<ArrayAttr> layOut(gpu::GPUFuncOp func,
                                   const KernelFamily &family,
                                   const target::Target &target) {
  RegionNamer namer(func, family.memory);
  if (failed(namer.run()))
    return failure();
  MemoryPlan plan(target);
  for (auto &[name, request] : namer.requests)
    if (request.isTmem)
      plan.addTmem(name.str(), request.size);
    else
      plan.addSmem(name.str(), request.size, request.alignment, request.isRing);
  if (std::optional<std::string> error = plan.check())
    return func.emitError() << *error;
  return toAttribute(plan.layOut(), func.getContext());
}

/// Checks that a program has no ops that read operands of kernels of
/// fmha.attention, and loads no elements that a role would have to convert.
static LogicalResult checkOps(gpu::GPUFuncOp func) {
  WalkResult walked = func.walk([](Operation *op) -> WalkResult {
    if (isa<AppendRowsOp, LoadRotatedOp, LoadFactorsOp>(op))
      return op->emitOpError()
             << "expected ops that programs may have, got one that reads "
                "operands of a kernel of fmha.attention; use fmha.attention "
                "with this feature";
    auto load = dyn_cast<LoadOp>(op);
    if (load &&
        isa<Float8E4M3FNType>(load.getView().getType().getElementType()))
      return op->emitOpError() << "expected a view of f16 or bf16 in a "
                                  "program, got elements of f8E4M3FN; convert "
                                  "them beforehand";
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult tile::layOutProgram(gpu::GPUFuncOp func,
                                  const KernelFamily &family) {
  auto kernel = func->getAttrOfType<KernelAttr>("tile.kernel");
  FailureOr<ArrayAttr> memory(kernel.getMemory());
  if (failed(checkTakesPrograms(func, kernel.getTarget())) ||
      failed(checkOps(func)) || (*memory && failed(checkGivenMap(func))))
    return failure();
  splitFills(func);
  splitLoads(func);
  if (!*memory)
    memory = layOut(func, family, *target::findTarget(kernel.getTarget()));
  FailureOr<SmallVector<OperandUse>> uses = boxesOf(func);
  if (failed(memory) || failed(uses))
    return failure();
  setMemory(func, *memory, *uses);
  return success();
}
