//===- LaunchValues.h - Values of a launch in the host program --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Emits the run-time values, tensor maps and grids that
// include/fmha/Runtime/README.md describes in a host program. The values are of
// type index, and constant if the types determine them.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOGPU_LAUNCHVALUES_H
#define FMHA_LIB_CONVERSION_FMHATOGPU_LAUNCHVALUES_H

#include "fmha/Dialect/FMHA/Transforms/IndexMath.h"
#include "fmha/Runtime/Manifest.h"

#include <map>

namespace fmha {

/// The tensors of a launch and the values that depend on them.
class LaunchValues {
public:
  explicit LaunchValues(IndexMath math) : math(math) {}

  void addTensor(runtime::TensorName name, mlir::Value memref);
  void addCapture(mlir::Value memref);
  /// Returns whether addTensor() was called for `name`.
  bool has(runtime::TensorName name) const { return views.count(name); }
  const TensorView &view(runtime::TensorName name) const;

  /// Returns the extents of the grid with one CTA per output tile, and sets the
  /// run-time value `tiles`.
  std::array<mlir::Value, 3> tiles(const runtime::KernelLaunch &launch);
  /// Returns the operands of the kernel in the order of its parameters.
  llvm::SmallVector<mlir::Value> arguments(const runtime::KernelLaunch &launch);

private:
  mlir::Value value(runtime::RunValue which);
  mlir::Value compute(runtime::RunValue which);
  mlir::Value stride(llvm::StringRef name);
  mlir::Value extent(const std::vector<runtime::GridFactor> &factors);
  mlir::Value argument(const runtime::Parameter &parameter);
  mlir::Value capture(const runtime::Parameter &parameter);
  mlir::Value addressOr(const TensorView &tensor, const TensorView &other);
  mlir::Value mapStride(mlir::Value size, mlir::Value stride);
  mlir::Value tensorMap(const runtime::Parameter &parameter);
  /// Returns the extent, and the stride in elements, of a dimension of a tensor
  /// map.
  std::pair<mlir::Value, mlir::Value> mapDim(runtime::MapDim dim,
                                             runtime::TensorName name);
  std::pair<mlir::Value, mlir::Value> chunksOf(const TensorView &tensor);

  IndexMath math;
  std::map<runtime::TensorName, TensorView> views;
  llvm::SmallVector<TensorView> captures;
  std::map<runtime::RunValue, mlir::Value> known;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOGPU_LAUNCHVALUES_H
