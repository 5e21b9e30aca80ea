//===- TensorRole.h - The tensors of a kernel -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_CAPI_TENSORROLE_H
#define FMHA_LIB_RUNTIME_CAPI_TENSORROLE_H

#include "Failure.h"
#include "fmha/Runtime/Launch/Manifest.h"
#include "fmha/Runtime/Launch/View.h"

namespace fmha::capi {

/// The dimensions of a tensor, outermost first.
enum class Form {
  /// batch, length, heads, dim; preceded by parts, if any, and without a batch
  /// if sequences are packed.
  Rows,
  /// batch, heads, length; with parts and packed sequences as above.
  Numbers,
  List,
  /// [sequences, entries], [batch, length, entries], or lists of the blocks of
  /// query rows, dense.
  Table,
  /// [positions, pairs], with contiguous rows.
  Angles,
  Capture,
};

/// One tensor of a launch.
struct TensorRole {
  std::string name;
  launch::TensorName tensor = launch::TensorName::Q;
  Form form = Form::Rows;
  DLDataType dtype = {};
  int32_t rank = 4;
  bool hasParts = false, isOutput = false;
  /// Of the address and the strides, in bytes, as required by a tensor map or a
  /// kernel that loads vectors.
  uint32_t alignment = 4;
  /// Numbers: the kernel does not receive the stride of rows, which is then 1.
  bool unitRows = false;

  int32_t elementBytes() const { return dtype.bits / 8; }
};

/// Lists the tensors of a kernel in the order of launch::TensorName, captures
/// last.
std::vector<TensorRole> rolesOf(const launch::Manifest &manifest);
std::vector<TensorRole> rolesOf(const launch::MergeManifest &manifest);
std::vector<TensorRole> rolesOf(const launch::AppendManifest &manifest);

/// Returns the stride of dimension `d` in elements, as defined by DLPack.
int64_t strideOf(const DLTensor &tensor, int32_t d);
uint64_t addressOf(const DLTensor &tensor);
bool isEmpty(const DLTensor &tensor);
/// Returns "[2, 300, 4, 64]".
std::string shapeText(const int64_t *shape, int32_t rank);

/// Checks presence, device, type, number of dimensions and extents of one
/// tensor, which determine the workspace.
FmhaStatus checkShape(const TensorRole &role, const DLTensor *tensor,
                      int32_t device);
/// Checks address, alignment and strides of a tensor that passed checkShape().
FmhaStatus checkPlacement(const TensorRole &role, const DLTensor &tensor);

/// Returns a tensor of the form Rows or Numbers as (batch, length, heads, dim),
/// one of the form Angles as the last two of these.
/// Dimensions of one element or less get a stride that is valid in any tensor
/// map. For tensors with parts, returns the first part.
launch::View viewOf(const TensorRole &role, const DLTensor &tensor);

} // namespace fmha::capi

#endif // FMHA_LIB_RUNTIME_CAPI_TENSORROLE_H
