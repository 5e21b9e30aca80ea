//===- ViewOps.cpp - Views, and the ops on rows of them ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListRules.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha::tile;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

void ViewOp::build(OpBuilder &b, OperationState &state, Value source,
                   const ViewPlace &at, uint32_t heads) {
  auto type = ViewType::of(cast<MemRefType>(source.getType()), heads);
  build(b, state, type, source, at.other, at.second, at.pages, at.entry,
        at.list, at.first, at.bound, at.batch, at.head, at.count, at.kvHead,
        at.member, at.column, at.start, at.length);
}

/// Checks that both of two operands are given, or none.
static LogicalResult verifyBoth(Operation *op, Value a, StringRef nameOfA,
                                Value b, StringRef nameOfB) {
  if (bool(a) == bool(b))
    return success();
  return op->emitOpError() << "expected " << nameOfA << " and " << nameOfB
                           << ", or neither, got " << (a ? nameOfA : nameOfB)
                           << " alone";
}

/// Checks the other tensor: it has a condition, and the type of the source.
static LogicalResult verifyOther(Operation *op, Value source, Value other,
                                 Value second) {
  if (failed(verifyBoth(op, other, "another tensor", second,
                        "the condition that takes it")))
    return failure();
  if (other && other.getType() != source.getType())
    return op->emitOpError()
           << "expected the other tensor to have the type of the first, "
           << source.getType() << ", got " << other.getType();
  return success();
}

LogicalResult TmaLoadOp::verify() {
  return verifyOther(*this, getSrc(), getOther(), getSecond());
}

LogicalResult TmaGatherOp::verify() {
  if (getBatches().size() == 4 && getRows().size() == 4)
    return success();
  return emitOpError()
         << "expected four rows, each with its batch or page, got "
         << getRows().size() << " rows and " << getBatches().size()
         << " batches";
}

static bool isElementOfRow(Type type) {
  return type.isF16() || type.isBF16() || isa<Float8E4M3FNType>(type);
}

/// Checks that `type` is one of rows that are copied in vectors of 16 bytes.
static LogicalResult verifyRowsInVectors(Operation *op, MemRefType type) {
  constexpr int64_t vectorBits = 128;
  if (type.getRank() == 4 && isElementOfRow(type.getElementType()) &&
      !type.isDynamicDim(3) &&
      type.getDimSize(3) * type.getElementTypeBitWidth() % vectorBits == 0)
    return success();
  return op->emitOpError()
         << "expected tensors of four dimensions with f16, bf16 or f8E4M3FN "
            "elements and a static last dimension of whole vectors of 16 "
            "bytes, got "
         << type;
}

/// Checks that new rows fit the rows of their cache.
static LogicalResult verifyCache(Operation *op, MemRefType fresh,
                                 MemRefType cache, bool hasPages) {
  if (failed(verifyRowsInVectors(op, fresh)) ||
      failed(verifyRowsInVectors(op, cache)))
    return failure();
  if (fresh.getElementType() != cache.getElementType() ||
      fresh.getDimSize(3) != cache.getDimSize(3))
    return op->emitOpError() << "expected new rows with the element type and "
                                "the last dimension of their cache, "
                             << cache << ", got " << fresh;
  int64_t rows = cache.getDimSize(1);
  if (hasPages && (cache.isDynamicDim(1) || !llvm::isPowerOf2_64(rows)))
    return op->emitOpError()
           << "expected a static power of two as the number of rows per page, "
              "got "
           << cache;
  return success();
}

/// Checks that an op that all threads of a CTA run is in the kernel's body.
static LogicalResult verifyInBody(Operation *op, StringRef what) {
  Operation *around = op->getParentOp();
  if (isa<FunctionOpInterface>(around))
    return success();
  return op->emitOpError()
         << "expected the op in the body of the kernel, since all threads of "
            "the CTA "
         << what << " once, got it in " << around->getName() << "; move it out";
}

/// Checks tables of angles of rows that have `columns` columns.
static LogicalResult verifyAngles(Operation *op, MemRefType cos, MemRefType sin,
                                  int64_t columns) {
  int64_t pairs = cos.getDimSize(1);
  if (ShapedType::isDynamic(pairs) || pairs < 1 || 2 * pairs > columns)
    return op->emitOpError() << "expected cosines with a static number of "
                                "columns, from 1 to "
                             << columns / 2 << ", got " << cos;
  if (sin.getDimSize(1) != pairs)
    return op->emitOpError() << "expected sines with " << pairs
                             << " columns, as the cosines have, got " << sin;
  return success();
}

/// Checks the position and both tables of an op, which come together or not.
template <typename OpTy>
static LogicalResult verifyTables(OpTy op, int64_t columns) {
  int given = bool(op.getPosition()) + bool(op.getCos()) + bool(op.getSin());
  if (given == 3)
    return verifyAngles(op, op.getCos().getType(), op.getSin().getType(),
                        columns);
  if (!given)
    return success();
  return op.emitOpError() << "expected a position, cosines and sines, or none "
                             "of them, got some";
}

LogicalResult AppendRowsOp::verify() {
  auto type = [](Value value) { return cast<MemRefType>(value.getType()); };
  bool hasPages = bool(getPages());
  MemRefType key = type(getKey()), value = type(getValue());
  if (failed(verifyBoth(*this, getPages(), "a table of pages", getEntry(),
                        "its entry")) ||
      failed(verifyCache(*this, type(getKeyNew()), key, hasPages)) ||
      failed(verifyCache(*this, type(getValueNew()), value, hasPages)))
    return failure();
  Type keys = key.getElementType(), values = value.getElementType();
  if (failed(verifyInBody(*this, "copy the rows")))
    return failure();
  if (keys != values)
    return emitOpError() << "expected caches of one element type, got " << keys
                         << " and " << values;
  if (hasPages && key.getDimSize(1) != value.getDimSize(1))
    return emitOpError() << "expected caches with one page size, got " << key
                         << " and " << value;
  if (getCos() && keys.getIntOrFloatBitWidth() != 16)
    return emitOpError() << "expected rows of f16 or bf16 to rotate, got "
                         << keys
                         << "; rotate the rows before they are quantized";
  if (failed(verifyBoth(*this, getCos(), "cosines", getSin(), "sines")) ||
      (getCos() &&
       failed(verifyAngles(*this, getCos().getType(), getSin().getType(),
                           type(getKeyNew()).getDimSize(3)))))
    return failure();
  return hasPages ? verifyContiguous(*this, getPages().getType()) : success();
}

/// Checks the rows that threads copy: their elements have `bits` bits, and each
/// step of the warps copies `rowsOfWarp` rows per warp.
template <typename OpTy>
static LogicalResult verifyRowsOfThreads(OpTy op, unsigned bits,
                                         uint32_t rowsOfWarp) {
  auto type = cast<MemRefType>(op.getSrc().getType());
  Type element = type.getElementType();
  bool isRow =
      isElementOfRow(element) && element.getIntOrFloatBitWidth() == bits;
  if (type.getRank() != 4 || !isRow || type.isDynamicDim(3) ||
      type.getDimSize(3) * bits % 128)
    return op.emitOpError() << "expected a tensor of four dimensions with "
                            << (bits == 8 ? "f8E4M3FN" : "f16 or bf16")
                            << " elements and a static head dim of whole "
                               "chunks of 16 bytes, got "
                            << type;
  for (Value list : {Value(op.getPages()), Value(op.getList())})
    if (list && !cast<MemRefType>(list.getType()).getLayout().isIdentity())
      return op.emitOpError()
             << "expected a contiguous list, got " << list.getType();
  if (op.getColumns() == 0 || op.getColumns() % 16)
    return op.emitOpError()
           << "expected a multiple of 16 columns, got " << op.getColumns();
  if (bool(op.getPages()) == bool(op.getBatch()) ||
      bool(op.getPages()) != bool(op.getEntry()))
    return op.emitOpError()
           << "expected either a batch, or a list of pages and its entry, got "
           << (op.getPages() ? "more than one" : "none");
  if (op.getPages() && (type.isDynamicDim(1) || op.getStart()))
    return op.emitOpError()
           << "expected a static number of rows per page and no first row of a "
              "sequence, got "
           << type << (op.getStart() ? " and a first row" : "");
  if (bool(op.getList()) != bool(op.getFirst()) ||
      bool(op.getList()) != bool(op.getBound()) ||
      (op.getList() && op.getStart()))
    return op.emitOpError()
           << "expected a list, its first entry and a bound, without the first "
              "row of a sequence, or none of them, got "
           << (op.getList() ? "a list" : "no list");
  uint32_t warps = op.getWarps();
  if ((warps != 2 && warps != 4) || op.getCount() == 0 ||
      op.getCount() % (rowsOfWarp * warps))
    return op.emitOpError()
           << "expected 2 or 4 warps and a multiple of " << rowsOfWarp
           << " rows per warp, got " << op.getCount() << " rows and " << warps
           << " warps";
  return success();
}

LogicalResult CopyRowsOp::verify() { return verifyRowsOfThreads(*this, 16, 4); }

LogicalResult ConvertRowsOp::verify() {
  if (failed(verifyRowsOfThreads(*this, 8, 8)))
    return failure();
  if (!getElement().isF16() && !getElement().isBF16())
    return emitOpError() << "expected to convert to f16 or bf16, got "
                         << getElement();
  return success();
}

/// Checks that `op` has the operands that the rank of its source requires, and
/// none that this rank does not allow.
static LogicalResult verifyOperandsOfRank(ViewOp op) {
  struct Operand {
    StringRef name;
    Value value;
    size_t leastRank;
    bool needed;
  };
  const Operand operands[] = {{"a batch", op.getBatch(), 1, !op.getPages()},
                              {"rows", op.getLength(), 1, true},
                              {"a first row", op.getStart(), 1, false},
                              {"a first column", op.getColumn(), 2, false},
                              {"a group", op.getKvHead(), 2, false},
                              {"another tensor", op.getOther(), 2, false}};
  size_t rank = op.getType().getShape().size();
  for (const Operand &operand : operands) {
    bool allowed = rank >= operand.leastRank;
    std::string least = std::to_string(operand.leastRank);
    if (operand.value ? !allowed : allowed && operand.needed)
      return op.emitOpError()
             << "expected " << operand.name
             << (allowed ? "" : " only in a view of rank " + least + " or more")
             << ", got " << (operand.value ? "it" : "none") << " in "
             << op.getType();
  }
  return success();
}

/// Checks that `op` has none of the `excluded` operands, which `kind` does not
/// allow.
static LogicalResult
verifyNoneOf(ViewOp op, StringRef kind,
             ArrayRef<std::pair<StringRef, Value>> excluded) {
  for (const auto &[name, value] : excluded)
    if (value)
      return op.emitOpError() << "expected no " << name << " in a view of "
                              << kind << ", got one";
  return success();
}

/// Checks a view of a paged cache: the source has the rows of a page, and no
/// operand specifies a position that the block table already determines.
static LogicalResult verifyPages(ViewOp op) {
  if (failed(verifyBoth(op, op.getPages(), "a list of pages", op.getEntry(),
                        "the entry of the first page")))
    return failure();
  if (!op.getPages())
    return success();
  auto source = cast<MemRefType>(op.getSource().getType());
  int64_t rows = source.getRank() == 4 ? source.getDimSize(1) : 0;
  if (!llvm::isPowerOf2_64(uint64_t(std::max<int64_t>(rows, 0))))
    return op.emitOpError() << "expected pages of a static number of rows, a "
                               "power of two, in dimension 1 of [page, row, "
                               "head, dim], got "
                            << source;
  if (failed(verifyNoneOf(op, "pages",
                          {{"batch", op.getBatch()},
                           {"first row", op.getStart()},
                           {"other tensor", op.getOther()},
                           {"packed heads", op.getCount()}})))
    return failure();
  if (!op.getPages().getType().getLayout().isIdentity())
    return op.emitOpError() << "expected a contiguous list of pages, got "
                            << op.getPages().getType();
  return success();
}

/// Checks a view of listed rows: no operand packs heads or selects rows in
/// another way.
static LogicalResult verifyList(ViewOp op) {
  for (auto [name, value] : {std::pair("the first entry", op.getFirst()),
                             {"a bound of the entries", op.getBound()}})
    if (failed(verifyBoth(op, op.getList(), "a list", value, name)))
      return failure();
  if (!op.getList())
    return success();
  if (failed(verifyNoneOf(op, "a list",
                          {{"first row", op.getStart()},
                           {"other tensor", op.getOther()},
                           {"packed heads", op.getCount()}})))
    return failure();
  if (op.getType().getShape().size() != 2)
    return op.emitOpError() << "expected rows of several columns that a list "
                               "names, got "
                            << op.getType();
  if (!op.getList().getType().getLayout().isIdentity())
    return op.emitOpError() << "expected a contiguous list of rows, got "
                            << op.getList().getType();
  return success();
}

LogicalResult ViewOp::verify() {
  auto memref = cast<MemRefType>(getSource().getType());
  ViewType expected = ViewType::of(memref, getType().getHeads());
  if (!expected)
    return emitOpError() << "expected a memref [batch, length, heads, dim], "
                            "[batch, heads, length] or [heads] of f16, bf16 or "
                            "f32, got "
                         << memref;
  if (getType() != expected)
    return emitOpError() << "expected " << expected << ", the rows of "
                         << memref << ", got " << getType();
  if (failed(verifyOperandsOfRank(*this)) || failed(verifyPages(*this)) ||
      failed(verifyList(*this)) ||
      failed(verifyOther(*this, getSource(), getOther(), getSecond())) ||
      failed(verifyBoth(*this, getKvHead(), "a KV head", getMember(),
                        "a member of its group")))
    return failure();
  if (getType().isPacked() != bool(getCount()))
    return emitOpError() << "expected the number of heads and the type of a "
                            "view that packs some, or neither, got "
                         << (getCount() ? "the number" : "the type")
                         << " alone";
  if (getKvHead() && !getCount())
    return emitOpError() << "expected a group only of packed heads, got it in "
                         << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Ops on rows
//===----------------------------------------------------------------------===//

/// Checks that `view` is the result of a tile.view, which its users read, and
/// has rank `rank`.
static LogicalResult verifyView(Operation *op, TypedValue<ViewType> view,
                                size_t rank) {
  if (!view.getDefiningOp<ViewOp>())
    return op->emitOpError()
           << "expected a view as the result of tile.view, where the op that "
              "takes it reads its place, got "
           << view;
  if (view.getType().getShape().size() != rank)
    return op->emitOpError()
           << "expected a view of rank " << rank << ", got " << view.getType();
  return success();
}

/// Checks that the tile has at least as many rows as heads are packed.
static LogicalResult verifyHeads(Operation *op, TileType tile, ViewType view) {
  if (view.getHeads() <= tile.getRows())
    return success();
  return op->emitOpError()
         << "expected at most as many heads as the tile has rows, "
         << tile.getRows() << ", got " << view.getHeads();
}

/// Checks a tile against the view that it is loaded from or stored to.
static LogicalResult verifyTileOfView(Operation *op, TileType tile,
                                      TypedValue<ViewType> view, size_t rank) {
  ViewType type = view.getType();
  if (failed(verifyView(op, view, rank)) || failed(verifyHeads(op, tile, type)))
    return failure();
  bool converts =
      isa<LoadOp>(op) && isa<Float8E4M3FNType>(type.getElementType());
  if (converts && tile.getElementType().isF32())
    return op->emitOpError()
           << "expected a tile of f16 or bf16, got " << tile.getElementType();
  if (!converts && type.getElementType() != tile.getElementType())
    return op->emitOpError() << "expected a tile of " << type.getElementType()
                             << ", got " << tile.getElementType();
  if (rank != 2 || ShapedType::isDynamic(type.getShape().back()))
    return success();
  int64_t headDim = type.getShape().back(), most = llvm::alignTo(headDim, 16);
  if (tile.getColumns() > most)
    return op->emitOpError()
           << "expected at most " << most << " tile columns, the view's head "
           << "dim of " << headDim << " rounded up to 16, got "
           << tile.getColumns();
  return success();
}

/// Checks an op that becomes a copy by TMA: if heads are packed, the view has
/// their group, which is a coordinate of the tensor map.
static LogicalResult verifyCopy(Operation *op, TileType tile,
                                TypedValue<ViewType> view) {
  if (failed(verifyTileOfView(op, tile, view, 2)))
    return failure();
  if (view.getType().isPacked() && !view.getDefiningOp<ViewOp>().getKvHead())
    return op->emitOpError() << "expected a view that names the group of its "
                                "packed heads, by which TMA copies, got none";
  return success();
}

LogicalResult LoadOp::verify() {
  if (getInto() && getInto().getType() != getType())
    return emitOpError() << "expected a slot of the result's type " << getType()
                         << ", got " << getInto().getType();
  return verifyCopy(*this, getType(), getView());
}

LogicalResult LoadRotatedOp::verify() {
  if (failed(verifyTileOfView(*this, getType(), getView(), 2)))
    return failure();
  ViewOp view = getViewOp();
  if (failed(verifyNoneOf(view, "rotated rows",
                          {{"pages", view.getPages()},
                           {"list", view.getList()},
                           {"first row", getCos() ? view.getStart() : Value()},
                           {"first column", view.getColumn()},
                           {"other tensor", view.getOther()}})) ||
      failed(verifyRowsInVectors(*this,
                                 cast<MemRefType>(view.getSource().getType()))))
    return failure();
  if (failed(verifyInBody(*this, "load the rows")))
    return failure();
  return verifyTables(*this, view.getType().getShape().back());
}

LogicalResult StoreOp::verify() {
  auto view = getView().getDefiningOp<ViewOp>();
  if (view && (view.getPages() || view.getList()))
    return emitOpError() << "expected a view of one tensor, got one of "
                         << (view.getPages() ? "pages" : "a list")
                         << ", which kernels only read";
  return verifyCopy(*this, getValue().getType(), getView());
}

LogicalResult WriteOp::verify() {
  auto tile = cast<TileType>(getTile());
  if (tile.getShape().size() != 2 || !tile.getElementType().isF32())
    return emitOpError() << "expected a tile of rank 2 that holds f32, got "
                         << tile;
  if (bool(getValue()) != bool(getSum()))
    return emitOpError() << "expected a value and the sums of its rows, or "
                            "neither";
  if (getScale() && !getValue())
    return emitOpError() << "expected a value to multiply by the scale, got "
                            "none";
  if (getValue() && getValue().getType().getShape() != tile.getShape())
    return emitOpError() << "expected a value of the shape of " << tile
                         << ", got " << getValue().getType();
  if (getSum() && getSum().getType().getRows() != tile.getRows())
    return emitOpError() << "expected a sum for each of " << tile.getRows()
                         << " rows, got " << getSum().getType();
  return verifyTileOfView(*this, tile, getView(), 2);
}

LogicalResult LoadRowsOp::verify() {
  return verifyTileOfView(*this, getType(), getView(), 0);
}

LogicalResult StoreRowsOp::verify() {
  TileType tile = getValue().getType();
  if (tile.getShape().size() != 1)
    return emitOpError() << "expected one element a row, got " << tile;
  return verifyTileOfView(*this, tile, getView(), 1);
}

/// Checks the rows of an op on factors: a thread of a warpgroup has one.
static LogicalResult verifyFactorRows(Operation *op, int64_t rows) {
  constexpr int64_t step = 16, most = 128;
  if (rows > 0 && rows <= most && rows % step == 0)
    return success();
  return op->emitOpError() << "expected a number of rows that is a multiple of "
                           << step << " and at most " << most << ", got "
                           << rows;
}

LogicalResult LoadFactorsOp::verify() {
  if (getInto() && getInto().getType() != getType())
    return emitOpError() << "expected a slot of the result's type " << getType()
                         << ", got " << getInto().getType();
  if (failed(verifyView(*this, getView(), 2)))
    return failure();
  if (!getViewOp().getPages())
    return emitOpError()
           << "expected a view with pages, since each page has its "
              "factors, got a view without pages";
  if (getType().getRows() % 2)
    return emitOpError()
           << "expected an even number of elements, two for each row, got "
           << getType().getRows();
  return verifyFactorRows(*this, getType().getRows() / 2);
}

LogicalResult WriteFactorsOp::verify() {
  return verifyFactorRows(*this, getCount());
}

/// Checks a tensor and a tile that the threads of a CTA copy in chunks.
template <typename OpTy>
static LogicalResult verifyChunks(OpTy op, MemRefType tensor) {
  constexpr int64_t group = 8;
  int64_t n = op.getCount(), columns = op.getColumns(), heads = op.getHeads();
  if (failed(verifyRowsInVectors(op, tensor)))
    return failure();
  if (heads > 0 && n > 0 && columns > 0 && n % heads == 0 && n % group == 0 &&
      columns % group == 0)
    return success();
  return op.emitOpError() << "expected rows of a positive number of heads, and "
                             "rows and columns that are multiples of "
                          << group << ", got " << n << " x " << columns
                          << " of " << heads << " heads";
}

LogicalResult RotateRowsOp::verify() {
  auto source = cast<MemRefType>(getSrc().getType());
  return success(succeeded(verifyChunks(*this, source)) &&
                 succeeded(verifyTables(*this, source.getDimSize(3))));
}

LogicalResult CopyRowsOutOp::verify() {
  return verifyChunks(*this, cast<MemRefType>(getDest().getType()));
}

LogicalResult ReadFactorsOp::verify() {
  auto type = cast<MemRefType>(getSrc().getType());
  if (type.getRank() != 4 || type.isDynamicDim(1))
    return emitOpError() << "expected a static number of rows per page, got "
                         << type;
  if (bool(getList()) != bool(getFirst()) ||
      bool(getList()) != bool(getBound()))
    return emitOpError() << "expected a list, its first entry and a bound, or "
                            "none of them, got "
                         << (getList() ? "a list" : "no list");
  return verifyFactorRows(*this, getCount());
}

//===----------------------------------------------------------------------===//
// Ops on scores
//===----------------------------------------------------------------------===//

ViewOp MaskOp::getQueriesOp() { return getQueries().getDefiningOp<ViewOp>(); }
ViewOp MaskOp::getKeysOp() { return getKeys().getDefiningOp<ViewOp>(); }
ViewOp ModifyOp::getQueriesOp() { return getQueries().getDefiningOp<ViewOp>(); }

LogicalResult MaskOp::verify() {
  if (failed(verifyView(*this, getQueries(), 2)) ||
      failed(verifyView(*this, getKeys(), 2)))
    return failure();
  if (getKeys().getType().isPacked())
    return emitOpError() << "expected a view of keys of one head, got "
                         << getKeys().getType();
  return verifyHeads(*this, getType(), getQueries().getType());
}

LogicalResult ModifyOp::verify() {
  Builder b(getContext());
  if (failed(verifyView(*this, getQueries(), 2)) ||
      failed(verifyHeads(*this, getType(), getQueries().getType())))
    return failure();
  SmallVector<Type> expected(getQueries().getType().isPacked() ? 4 : 3,
                             b.getIndexType());
  expected.front() = b.getF32Type();
  Block &body = getBody().front();
  if (body.empty() || !isa<YieldOp>(body.back()))
    return emitOpError() << "expected tile.yield at the end of the region";
  for (Operation &inner : body.without_terminator()) {
    if (inner.getNumResults() != 1 || inner.getNumRegions())
      return inner.emitOpError()
             << "expected ops of one result and no region in a tile.modify";
    Type type = inner.getResult(0).getType();
    if (!type.isIntOrIndexOrFloat())
      return inner.emitOpError() << "expected a number as the result of each "
                                    "op in a tile.modify, got "
                                 << type << "; write it for one score";
  }
  if (TypeRange(getBody().getArgumentTypes()) == TypeRange(expected))
    return success();
  return emitOpError() << "expected a region of (" << TypeRange(expected)
                       << "), got (" << getBody().getArgumentTypes() << ")";
}
