//===- KernelContext.h - Shared state of a kernel's builders ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_KERNELCONTEXT_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_KERNELCONTEXT_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/KernelAbi.h"
#include "fmha/Schedule/Model/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha {

enum Argument : unsigned { Query = 0, Key = 1, Values = 2, Output = 3 };

/// The op, its schedule and the function of its kernel, with short forms of the
/// types and ops that all parts of the kernel build.
struct KernelContext {
  KernelContext(AttentionOp op, mlir::gpu::GPUFuncOp func)
      : op(op), plan(op.getScheduleAttr().getValue()),
        problem(schedule::kernelProblem(op.getProblem(), plan)), func(func),
        b(mlir::ImplicitLocOpBuilder::atBlockEnd(op.getLoc(),
                                                 &func.getBody().front())) {}

  bool isPacked() const { return plan.packHeads > 1; }
  /// Returns the number of query rows of a query tile, for each of its heads.
  int64_t rowsOfTile() const { return plan.qTileRows / plan.packHeads; }
  /// Returns the number of columns of the query and key tiles, and of the value
  /// and output tiles.
  int64_t keyColumns() { return schedule::paddedColumns(op.getHeadDim()); }
  int64_t outputColumns() {
    return schedule::outputColumns(op.getProblem(), plan);
  }
  /// Returns the consumers that share the columns of O, and the columns of one.
  unsigned consumers() const { return schedule::outputConsumers(plan); }
  struct Columns {
    int64_t first, count;
  };
  Columns columnsOf(unsigned consumer) {
    int64_t each = schedule::consumerColumns(op.getProblem(), plan);
    int64_t first = consumer * each;
    return {first, std::min(each, outputColumns() - first)};
  }
  tile::TileType tileType(int64_t columns, mlir::Type element) {
    return tile::TileType::get(b.getContext(), {plan.qTileRows, columns},
                               element, mlir::Attribute());
  }
  tile::TileType rowType() {
    return tile::TileType::get(b.getContext(), {plan.qTileRows}, b.getF32Type(),
                               mlir::Attribute());
  }

  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, value);
  }
  template <typename OpTy> mlir::Value make(mlir::Value lhs, mlir::Value rhs) {
    return OpTy::create(b, lhs, rhs);
  }
  mlir::Value extent(unsigned argument, int64_t dimension) {
    return mlir::memref::DimOp::create(b, func.getArgument(argument),
                                       dimension);
  }
  /// Returns the operand with that name; null if the kernel has none.
  mlir::Value operand(const std::string &name) {
    auto n = parameterIndex(kernelOperands(problem), name);
    return n ? mlir::Value(func.getArgument(*n)) : mlir::Value();
  }
  tile::ViewOp view(mlir::Value source, const tile::ViewPlace &place,
                    uint32_t heads = 1) {
    return tile::ViewOp::create(b, source, place, heads);
  }
  mlir::Value slice(mlir::Value tile, int64_t first, int64_t count) {
    auto type = llvm::cast<tile::TileType>(tile.getType());
    if (count == type.getColumns())
      return tile;
    return tile::SliceOp::create(b, type.columns(first, count), tile, first);
  }
  /// Returns `of2` if `second` holds, otherwise `of1`.
  mlir::Value select(mlir::Value second, mlir::Value of2, mlir::Value of1) {
    return of1 == of2 ? of1
                      : mlir::arith::SelectOp::create(b, second, of2, of1);
  }
  /// Returns the entry of the scales `name` for KV head `kvHead`, or null if
  /// there are none, or one for each page.
  mlir::Value scaleOf(const std::string &name, mlir::Value kvHead) {
    mlir::Value scales = operand(name);
    if (!scales || problem.scalePerPage)
      return {};
    mlir::Value entry = problem.scalePerHead ? kvHead : index(0);
    return mlir::memref::LoadOp::create(b, scales, entry);
  }
  /// Sets the region of the memory map for the result of `made`, and the one
  /// for numbers of rows that `made` receives from another role.
  template <typename OpTy>
  OpTy inRegion(OpTy made, const llvm::Twine &name, int64_t column = 0,
                const llvm::Twine &rows = "") {
    made->setAttr(
        "tile.region",
        tile::RegionAttr::get(b.getContext(), name.str(), column, rows.str()));
    return made;
  }

  /// Gives `made` to a consumer that has no rows of its own, if it has number
  /// `consumer`, above 0; the passes find the roles of all other ops.
  template <typename OpTy> OpTy inConsumer(OpTy made, unsigned consumer) {
    return consumer ? inRole(made, "consumer" + std::to_string(consumer))
                    : made;
  }
  /// Assigns `made` to `role`, which the passes would not choose.
  template <typename OpTy> OpTy inRole(OpTy made, const std::string &role) {
    made->setAttr("tile.partition",
                  tile::PartitionAttr::get(b.getContext(), role, /*stage=*/0,
                                           /*order=*/0));
    return made;
  }

  AttentionOp op;
  const schedule::Schedule &plan;
  /// The problem of the kernel; with splits that of the partial results.
  schedule::Problem problem;
  mlir::gpu::GPUFuncOp func;
  mlir::ImplicitLocOpBuilder b;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_KERNELCONTEXT_H
