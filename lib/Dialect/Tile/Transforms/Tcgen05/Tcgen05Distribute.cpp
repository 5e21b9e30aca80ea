//===- Tcgen05Distribute.cpp - Distribute rows to threads -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tcgen05Distribute.h"
#include "Common/Distribute.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

/// Returns the type of a tile: in registers a vector of the thread's columns of
/// its row, or a scalar for rank 1; in memory an address.
static Type convertTile(TileType type) {
  MLIRContext *ctx = type.getContext();
  if (type.getSmem())
    return LLVM::LLVMPointerType::get(ctx, 3);
  if (type.getTmem())
    return LLVM::LLVMPointerType::get(ctx, 6);
  if (!type.inRegisters())
    return {};
  if (type.getShape().size() == 1)
    return type.getElementType();
  return VectorType::get({ownColumns(type)}, type.getElementType());
}

/// Whether two threads have the halves of a row of `tile`, and the second half
/// begins inside of a panel and ends in another one.
static bool splitsInPanel(TileType tile) {
  int64_t columns = ownColumns(tile), rest = columns % panelColumns;
  return threadsPerRow(tile) == 2 && rest && rest + columns > panelColumns;
}

/// Checks that each thread writes a contiguous part of a row.
static LogicalResult checkWrites(WarpSpecializeOp op) {
  WalkResult walked = op.walk([](Operation *inner) {
    if (!isa<MoveOp, NormalizeOp>(inner))
      return WalkResult::advance();
    auto from = cast<TileType>(inner->getOperand(0).getType());
    auto to = cast<TileType>(inner->getResult(0).getType());
    if (!from.inRegisters() || !to.getSmem() || to.getShape().size() != 2 ||
        !splitsInPanel(to))
      return WalkResult::advance();
    inner->emitOpError() << "expected halves of rows of 64 that lie in one "
                            "panel of "
                         << panelColumns << " columns each, got " << to
                         << "; use tiles of 128 rows, at most 64 columns or a "
                            "multiple of 128";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult fmha::tile::distributeTcgen05(WarpSpecializeOp op,
                                            const KernelInfo &info) {
  if (failed(checkWrites(op)))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), op);
  // A program without products has no allocation.
  const schedule::SmemRegion *address = info.map.findSmem("tmem_address");
  Value base = address ? Value(TmemBaseOp::create(b, b.getI32Type(),
                                                  int32_t(address->offset)))
                       : constantI32(b, 0);
  DistributeContext context{info, base};
  return distributeTiles(
      op, convertTile,
      [&](RewritePatternSet &patterns, const TypeConverter &converter) {
        populateDistributeArithmetic(patterns, converter, context);
        populateDistributeMemory(patterns, converter, context);
        populateDistributeOutput(patterns, converter, context);
        populateDistributeModify(patterns, converter, context);
      });
}
