//===- CopyLowering.cpp - Copies of tiles by TMA ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyLowering.h"
#include "DrawnTiles.h"
#include "RowPlaces.h"
#include "fmha/Dialect/Tile/Transforms/RolledLoops.h"
#include "fmha/Layout/SmemTile.h"
#include "fmha/Schedule/Model/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

/// Columns of one swizzle panel of 16-bit elements: 128 bytes.
static constexpr int64_t panelColumns = layout::PanelTile::panelColumns;

static Value index(ImplicitLocOpBuilder &b, int64_t v) {
  return arith::ConstantIndexOp::create(b, v);
}

/// Returns the stage of `slot`, which is acquired.
static Value stageOfSlot(ImplicitLocOpBuilder &b, Value slot, Barriers own) {
  auto acquired = slot.getDefiningOp<AcquireOp>();
  return stageOfMessage(b, own.channel.getDepth(), acquired.getMessage());
}

/// Returns the address of byte `offset` of a stage of the tile's shared memory.
static Value stageAddress(ImplicitLocOpBuilder &b, TileType tile,
                          int32_t offset, Value stage) {
  SmemAttr place = tile.getSmem();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value base =
      SmemAddressOp::create(b, pointer, int32_t(place.getOffset()) + offset);
  if (place.getStages() == 1)
    return base;
  Value bytes = arith::IndexCastOp::create(
      b, b.getI32Type(),
      arith::MulIOp::create(b, stage, index(b, tile.getStagePitch())));
  return LLVM::GEPOp::create(b, pointer, b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

/// Returns the stage of the slot for the tile of `op`.
Value CopyLowering::slotOf(LoadOp op, Barriers own) {
  return stageOfSlot(b, op.getInto(), own);
}

/// Returns the address of a panel of 64 columns in a stage of the tile's
/// shared memory.
Value CopyLowering::panelAddress(TileType tile, Value stage, int64_t panel) {
  int64_t panelBytes = tile.getRows() * panelColumns * 2;
  return stageAddress(b, tile, int32_t(panel * panelBytes), stage);
}

Value CopyLowering::rowsOf(ViewOp view) {
  Value rows = memref::DimOp::create(b, view.getSource(), 1);
  if (!view.getOther())
    return rows;
  return arith::SelectOp::create(
      b, view.getSecond(), memref::DimOp::create(b, view.getOther(), 1), rows);
}

/// Returns the row and end of a copy's boxes for tile.tma_load: the row of a
/// varlen sequence counts from `extent` rows before the end of the sequence.
template <typename CopyOp>
std::pair<Value, Value> CopyLowering::boxRow(CopyOp op, Value extent) {
  ViewOp view = op.getViewOp();
  Value before = arith::SubIOp::create(b, extent, view.getLength());
  return {arith::AddIOp::create(b, before, op.getRow()),
          arith::AddIOp::create(b, view.getStart(), view.getLength())};
}

/// If a box lies wholly outside of its map, a GPU reads at the map's address,
/// which for varlen sequences lies before the tensor, perhaps in unmapped
/// memory (scripts/probes/tma_outside.cu). A box after its sequence therefore
/// begins at the last row instead, or at row 0 of the tensor; its values are
/// masked, or their results are not stored.
///   row = min(row, extent - 1), end = max(end, 1)
std::pair<Value, Value> CopyLowering::loadRow(LoadOp op) {
  ViewOp view = op.getViewOp();
  if (!view.getStart())
    return {op.getRow(), Value()};
  Value extent = rowsOf(view);
  auto [row, end] = boxRow(op, extent);
  Value last = arith::SubIOp::create(b, extent, index(b, 1));
  return {arith::MinSIOp::create(b, row, last),
          arith::MaxSIOp::create(b, end, index(b, 1))};
}

/// Returns the first column of a panel, as a constant and a run-time value to
/// add to it. If columns are loaded in parts, panels of the last part may lie
/// outside the tensor map. These load the tensor's last panel again: their
/// results are columns of O that are not stored, or are multiplied by zeros of
/// Q.
///   column + 64, 176 columns in parts of 128 -> min(column + 64, 128)
std::pair<int32_t, Value> CopyLowering::panelColumn(LoadOp op, int64_t panel) {
  ViewOp view = op.getViewOp();
  int64_t first = panel * panelColumns, width = op.getType().getColumns();
  int64_t last = view.getType().getShape().back() - 1;
  bool endsBySequence = view.getStart() || view.getPages() || view.getList();
  if (!endsBySequence || !view.getColumn() ||
      last / width * width + first <= last)
    return {int32_t(first), view.getColumn()};
  Value column = arith::AddIOp::create(b, view.getColumn(), index(b, first));
  return {0, arith::MinSIOp::create(
                 b, column, index(b, last / panelColumns * panelColumns))};
}

/// Returns the index, within the sequence, of the page that holds row `key`. A
/// box after the end of the sequence uses the last page instead, so that no
/// later entry of the block table is read.
///   number = min(key / size, max(length - 1, 0) / size)
Value CopyLowering::pageNumber(LoadOp op, Value key) {
  ViewOp view = op.getViewOp();
  Value size = index(b, view.getPageSize()), one = index(b, 1);
  Value last = arith::SubIOp::create(
      b, arith::MaxSIOp::create(b, view.getLength(), one), one);
  return arith::MinSIOp::create(b, arith::DivUIOp::create(b, key, size),
                                arith::DivUIOp::create(b, last, size));
}

/// Returns the place of row `key`; `entry` is the block-table entry of its
/// page:
///   first = number * size, left = min(length - first, size)
///   row = min(size - left + key - first, size - 1), end = max(left, 1)
/// where `left` is the number of rows used in this page. A box after the end of
/// the sequence begins at its last row: CTAs of other splits may write earlier
/// ones (tile.append_rows). If tiles are whole pages, key - first is 0, or that
/// of a box after the end, which gets the last page of the tile.
PagePlace CopyLowering::pagePlace(LoadOp op, Value key, Value entry) {
  ViewOp view = op.getViewOp();
  Value size = index(b, view.getPageSize()), one = index(b, 1);
  Value first = arith::MulIOp::create(b, pageNumber(op, key), size);
  Value left = arith::SubIOp::create(b, view.getLength(), first);
  left = arith::MinSIOp::create(b, left, size);
  Value row = arith::SubIOp::create(b, size, left);
  if (op.getType().getRows() % view.getPageSize())
    row = arith::AddIOp::create(b, row, arith::SubIOp::create(b, key, first));
  return {RowPlaces(b, view).existingPage(entry),
          arith::MinSIOp::create(b, row, arith::SubIOp::create(b, size, one)),
          arith::MaxSIOp::create(b, left, one)};
}

/// Returns the address of row `rowInTile` of a panel.
Value CopyLowering::boxAddress(LoadOp op, Value stage, int64_t panel,
                               Value rowInTile) {
  Value address = panelAddress(op.getType(), stage, panel);
  Value offset = arith::IndexCastOp::create(
      b, b.getI32Type(),
      arith::MulIOp::create(b, rowInTile, index(b, panelColumns * 2)));
  return LLVM::GEPOp::create(b, address.getType(), b.getI8Type(), address,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// Copies the panels of one box, which goes to row `rowInTile` of the tile.
void CopyLowering::copyBox(LoadOp op, Barriers own, Value rowInTile,
                           const PagePlace &place) {
  TileType tile = op.getType();
  ViewOp view = op.getViewOp();
  Value stage = slotOf(op, own);
  for (int64_t panel = 0; panel * panelColumns < tile.getColumns(); ++panel) {
    auto [column, more] = panelColumn(op, panel);
    TmaLoadOp::create(b, view.getSource(), place.page, place.row,
                      view.getHead(), Value(), column, more, place.end,
                      boxAddress(op, stage, panel, rowInTile), own.full, stage,
                      Value(), Value());
  }
}

/// Copies the panels of four rows, of which the first goes to row `rowInTile`
/// of the tile.
void CopyLowering::gatherBox(LoadOp op, Barriers own, Value rowInTile,
                             ValueRange pages, ValueRange rows) {
  ViewOp view = op.getViewOp();
  Value stage = slotOf(op, own);
  int64_t columns = op.getType().getColumns();
  for (int64_t panel = 0; panel * panelColumns < columns; ++panel) {
    auto [column, more] = panelColumn(op, panel);
    TmaGatherOp::create(b, view.getSource(), pages, rows, view.getHead(),
                        column, more, boxAddress(op, stage, panel, rowInTile),
                        own.full, stage);
  }
}

/// Copies `count` boxes of `rows` rows, from row `first` of the tile on. The
/// entries of all pages are read first, so that their latencies overlap.
void CopyLowering::copyBoxes(LoadOp op, Barriers own, Value first, int64_t rows,
                             int64_t count) {
  struct Box {
    Value inTile, key, entry;
  };
  SmallVector<Box> boxes;
  ViewOp view = op.getViewOp();
  for (int64_t n = 0; n < count; ++n) {
    Value inTile = arith::AddIOp::create(b, first, index(b, n * rows));
    Value key = arith::AddIOp::create(b, op.getRow(), inTile);
    Value place =
        arith::AddIOp::create(b, view.getEntry(), pageNumber(op, key));
    boxes.push_back(
        {inTile, key, memref::LoadOp::create(b, view.getPages(), place)});
  }
  for (const Box &box : boxes)
    copyBox(op, own, box.inTile, pagePlace(op, box.key, box.entry));
}

/// Copies a tile box by box; each box lies in one page. If there are many
/// boxes, it emits a loop, because the role has few registers.
void CopyLowering::copyPages(LoadOp op, Barriers own) {
  TileType tile = op.getType();
  // The role has enough registers for 4 copies in flight.
  int64_t panels = llvm::divideCeil(tile.getColumns(), panelColumns);
  int64_t mostUnrolled = std::max<int64_t>(1, 4 / panels);
  int64_t rows = tile.getRows();
  int64_t boxRows = std::gcd(rows, op.getViewOp().getPageSize());
  int64_t step = mostUnrolled * boxRows, rolled = rows / step * step;
  if (rolled > step) {
    auto loop =
        scf::ForOp::create(b, index(b, 0), index(b, rolled), index(b, step));
    keepRolled(loop);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    copyBoxes(op, own, loop.getInductionVar(), boxRows, mostUnrolled);
  } else if (rolled) {
    copyBoxes(op, own, index(b, 0), boxRows, mostUnrolled);
  }
  if (rolled < rows)
    copyBoxes(op, own, index(b, rolled), boxRows, (rows - rolled) / boxRows);
}

/// The distance in tiles between a tile that threads convert and the one that
/// they prefetch to L2.
static constexpr int64_t prefetchedTiles = 2;

/// Emits the copies of a tile by the warps of the role:
///   %t = tile.load %k[%row] into %slot -> tile.copy_rows ... to %p0
/// or tile.convert_rows if the view has stored numbers of f8E4M3FN.
void CopyLowering::copyByThreads(LoadOp op, Barriers own) {
  TileType tile = op.getType();
  ViewOp view = op.getViewOp();
  auto role = op->getParentOfType<RoleOp>();
  uint32_t warps = role.getLastWarp() - role.getFirstWarp();
  if (isa<Float8E4M3FNType>(view.getType().getElementType())) {
    auto number = [&](int64_t n) { return b.getI32IntegerAttr(int32_t(n)); };
    ConvertRowsOp::create(
        b, view.getSource(), view.getPages(), view.getEntry(), view.getList(),
        view.getFirst(), view.getBound(), view.getBatch(), view.getHead(),
        op.getRow(), view.getLength(), view.getStart(), view.getColumn(),
        panelAddress(tile, slotOf(op, own), /*panel=*/0),
        TypeAttr::get(tile.getElementType()), number(tile.getRows()),
        number(tile.getColumns()), number(prefetchedTiles * tile.getRows()),
        number(warps), role.getFirstWarpAttr());
    return op.erase();
  }
  CopyRowsOp::create(
      b, view.getSource(), view.getPages(), view.getEntry(), view.getList(),
      view.getFirst(), view.getBound(), view.getBatch(), view.getHead(),
      op.getRow(), view.getLength(), view.getStart(), view.getColumn(),
      panelAddress(tile, slotOf(op, own), /*panel=*/0), tile.getRows(),
      tile.getColumns(), warps, role.getFirstWarp());
  op.erase();
}

/// Copies `count` rows, from row `first` of the tile on. The lists of all rows
/// are read first, then their pages, so that the latencies overlap.
void CopyLowering::copyRowsAt(LoadOp op, Barriers own, Value first,
                              int64_t count) {
  RowPlaces places(b, op.getViewOp());
  SmallVector<Value> inTile, keys, pages, rows;
  for (int64_t n = 0; n < count; ++n) {
    inTile.push_back(arith::AddIOp::create(b, first, index(b, n)));
    keys.push_back(
        places.keyOf(arith::AddIOp::create(b, op.getRow(), inTile.back())));
  }
  for (Value key : keys)
    pages.push_back(places.pageOf(key));
  for (Value key : keys)
    rows.push_back(places.rowInPage(key));
  constexpr int64_t four = schedule::gatheredRows;
  for (int64_t n = 0; gathers && n < count; n += four)
    gatherBox(op, own, inTile[n], ArrayRef(pages).slice(n, four),
              ArrayRef(rows).slice(n, four));
  for (int64_t n = 0; !gathers && n < count; ++n)
    copyBox(op, own, inTile[n], {pages[n], rows[n], Value()});
}

/// Copies a tile of rows from anywhere, in a loop. Four messages are in flight
/// per panel.
void CopyLowering::copySingleRows(LoadOp op, Barriers own) {
  int64_t step = gathers ? 4 * schedule::gatheredRows : 4;
  auto loop = scf::ForOp::create(
      b, index(b, 0), index(b, op.getType().getRows()), index(b, step));
  keepRolled(loop);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  copyRowsAt(op, own, loop.getInductionVar(), step);
}

/// %t = tile.load %k[%row] into %slot ->
///   tile.arrive_expect_tx %full[%stage] bytes 32768
///   tile.tma_load %K[...] column 0 to %p0 signals %full[%stage]
///   tile.tma_load %K[...] column 64 to %p1 signals %full[%stage]
/// If the tensor ends inside a box, the bytes of the whole box count.
void CopyLowering::lower(LoadOp op, Barriers own) {
  if (own.channel.getProducer() != Agent::Tma)
    return copyByThreads(op, own);
  TileType tile = op.getType();
  ViewOp view = op.getViewOp();
  Value stage = slotOf(op, own);
  ArriveExpectTxOp::create(b, own.full, stage, int32_t(tile.getBytes()));
  if (view.getList() || view.getPages()) {
    if (view.getList() || gathers)
      copySingleRows(op, own);
    else
      copyPages(op, own);
    return op.erase();
  }
  auto [row, end] = loadRow(op);
  for (int64_t panel = 0; panel * panelColumns < tile.getColumns(); ++panel) {
    auto [column, more] = panelColumn(op, panel);
    TmaLoadOp::create(b, view.getSource(), view.getBatch(), row,
                      view.getCopyHead(), view.getMember(), column, more, end,
                      panelAddress(tile, stage, panel), own.full, stage,
                      view.getOther(), view.getSecond());
  }
  op.erase();
}

/// %q = tile.load_rotated %view[%row] at %position by %cos, %sin ->
///   tile.rotate_rows ... to %p0
///   tile.fence proxy_async
/// Roles have slots of their own for the tile.
void CopyLowering::lower(LoadRotatedOp op) {
  TileType tile = op.getType();
  ViewOp view = op.getViewOp();
  Value members = view.getCount() ? view.getCount() : index(b, 1);
  RotateRowsOp::create(b, view.getSource(), view.getBatch(), view.getHead(),
                       members, op.getRow(), view.getLength(), view.getStart(),
                       op.getPosition(), op.getCos(), op.getSin(),
                       panelAddress(tile, index(b, 0), /*panel=*/0),
                       tile.getRows(), tile.getColumns(),
                       view.getType().getHeads(), op.getInterleaved());
  if (fences)
    FenceOp::create(b, FenceKind::ProxyAsync);
  op.erase();
}

void CopyLowering::lower(StoreOp op) {
  TileType tile = op.getValue().getType();
  ViewOp view = op.getViewOp();
  std::pair<Value, Value> place(op.getRow(), Value());
  if (view.getStart())
    place = boxRow(op, rowsOf(view));
  // A tile that was received through a ring lies in its slot.
  auto received = op.getValue().getDefiningOp<SlotAddressOp>();
  Value stage = received ? received.getStage() : index(b, 0);
  for (int64_t panel = 0; panel * panelColumns < tile.getColumns(); ++panel)
    TmaStoreOp::create(b, panelAddress(tile, stage, panel), view.getSource(),
                       view.getBatch(), place.first, view.getCopyHead(),
                       view.getMember(), int32_t(panel * panelColumns),
                       view.getColumn(), place.second);
  // The copy must have read shared memory before that is reused or freed.
  TmaStoreWaitOp::create(b);
  op.erase();
}

/// Returns the op before which the factors are read: the first producer acquire
/// in the block of `op`, or the op after the last operand, if that comes later.
static Operation *firstPlaceOf(LoadFactorsOp op) {
  Block *block = op->getBlock();
  auto waits = block->getOps<AcquireOp>();
  Operation *place = waits.empty() ? op : (*waits.begin()).getOperation();
  ViewOp view = op.getViewOp();
  for (Value operand :
       {Value(op.getRow()), Value(view.getEntry()), Value(view.getLength()),
        Value(view.getFirst()), Value(view.getBound())}) {
    Operation *maker = operand ? operand.getDefiningOp() : nullptr;
    if (maker && maker->getBlock() == block && !maker->isBeforeInBlock(place))
      place = maker->getNextNode();
  }
  return place;
}

static ReadFactorsOp readFactors(ImplicitLocOpBuilder &b, LoadFactorsOp op,
                                 RoleOp role) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(firstPlaceOf(op));
  ViewOp view = op.getViewOp();
  return ReadFactorsOp::create(
      b, op.getKeys(), op.getValues(), view.getSource(), view.getPages(),
      view.getEntry(), view.getList(), view.getFirst(), view.getBound(),
      op.getRow(), view.getLength(), uint32_t(op.getType().getRows() / 2),
      role.getFirstWarp());
}

///   %f = tile.load_factors %ks, %vs of %k[%row] into %slot
/// ->
///   %key, %value = tile.read_factors ...   // before the tiles of the block
///   ...
///   tile.write_factors %key, %value of 64 to %p
void tile::lowerFactors(ImplicitLocOpBuilder &b, LoadFactorsOp op,
                        Barriers own) {
  auto role = op->getParentOfType<RoleOp>();
  ReadFactorsOp read = readFactors(b, op, role);
  WriteFactorsOp::create(
      b, read.getKey(), read.getValue(),
      stageAddress(b, op.getType(), 0, stageOfSlot(b, op.getInto(), own)),
      read.getCount(), role.getFirstWarp());
  op.erase();
}
