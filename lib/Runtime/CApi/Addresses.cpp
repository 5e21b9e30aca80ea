//===- Addresses.cpp - Memory of the tensors of a launch ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundTensors.h"
#include "fmha/Runtime/Launch/Overlap.h"

namespace fmha::capi {
namespace {

using launch::RunValue;
using launch::TensorName;

/// Returns the memory region of a tensor.
launch::Region regionOf(const TensorRole &role, const DLTensor &tensor) {
  int64_t size = role.elementBytes();
  launch::Region region(addressOf(tensor), tensor.data ? uint64_t(size) : 0);
  // The contiguous dimension forms the block of the others.
  int32_t last = tensor.ndim - 1;
  bool isBlock = last >= 0 && strideOf(tensor, last) == 1;
  if (isBlock)
    region =
        launch::Region(addressOf(tensor),
                       tensor.data ? uint64_t(size) * tensor.shape[last] : 0);
  for (int32_t d = 0; d < tensor.ndim - isBlock; ++d)
    region.add(strideOf(tensor, d) * size, tensor.shape[d]);
  return region;
}

FmhaStatus checkOverlaps(const FmhaModuleImpl &module,
                         const BoundTensors &bound,
                         const launch::Region &workspace) {
  for (size_t n = 0; n < module.roles.size(); ++n) {
    const TensorRole &role = module.roles[n];
    launch::Region own = regionOf(role, *bound.tensors[n]);
    if (mayOverlap(own, workspace))
      return fail(FMHA_ERROR_OVERLAP,
                  "workspace: expected memory of its own, got bytes that "
                  "tensor '" +
                      role.name + "' has too; allocate it separately");
    if (!role.isOutput)
      continue;
    for (size_t other = 0; other < module.roles.size(); ++other) {
      const TensorRole &with = module.roles[other];
      // Of two outputs the later one is reported.
      if (other == n || (with.isOutput && other > n))
        continue;
      if (mayOverlap(own, regionOf(with, *bound.tensors[other])))
        return fail(FMHA_ERROR_OVERLAP,
                    "tensor '" + role.name +
                        "': expected memory of its own, got bytes that tensor "
                        "'" +
                        with.name + "' has too; give it a buffer of its own");
    }
  }
  return FMHA_SUCCESS;
}

/// Checks that V is the same memory as K, which a kernel that reads V from the
/// rows of K requires.
FmhaStatus checkView(const BoundTensors &bound, TensorName ofK,
                     TensorName ofV) {
  const launch::View &k = bound.view(ofK), &v = bound.view(ofV);
  bool same = k.address == v.address;
  for (int i = 0; i < 3; ++i)
    same = same && (k.dims[i] <= 1 || k.strides[i] == v.strides[i]);
  if (same || !k.dims[0] || !k.dims[1] || !k.dims[2])
    return FMHA_SUCCESS;
  std::string name(nameOf(ofV)), keys(nameOf(ofK));
  return fail(FMHA_ERROR_STRIDES,
              "tensor '" + name + "': expected the first columns of tensor '" +
                  keys +
                  "', in its memory and with its strides, as the kernel "
                  "was compiled with v_in_k, got a tensor of its own; "
                  "compile without v_in_k");
}

FmhaStatus checkViews(const FmhaModuleImpl &module, const BoundTensors &bound) {
  if (!module.attention || !module.attention->vInK)
    return FMHA_SUCCESS;
  if (FmhaStatus status = checkView(bound, TensorName::K, TensorName::V))
    return status;
  if (!module.attention->source2)
    return FMHA_SUCCESS;
  return checkView(bound, TensorName::K2, TensorName::V2);
}

FmhaStatus checkWorkspace(const FmhaLaunchOptions &options, uint64_t bytes) {
  if (!bytes)
    return FMHA_SUCCESS;
  std::string wanted = "workspace: expected " + std::to_string(bytes) +
                       " bytes of device memory at a multiple of 16, got ";
  if (!options.workspace)
    return fail(FMHA_ERROR_WORKSPACE,
                wanted + "NULL; ask fmhaWorkspaceBytes() and allocate it");
  if (uint64_t past = uintptr_t(options.workspace) % 16)
    return fail(FMHA_ERROR_WORKSPACE, wanted + "an address " +
                                          std::to_string(past) +
                                          " bytes past; align it");
  if (options.workspace_bytes && options.workspace_bytes < bytes)
    return fail(FMHA_ERROR_WORKSPACE,
                wanted + std::to_string(options.workspace_bytes) +
                    " bytes; ask fmhaWorkspaceBytes() for these tensors");
  return FMHA_SUCCESS;
}

/// Sets the addresses of tensors without elements, which may have none. No
/// kernel reads them, but a tensor map and a pointer need a valid address.
void borrowAddresses(const FmhaModuleImpl &module, BoundTensors &bound) {
  TensorName lender = module.attention ? TensorName::Q
                      : module.merge   ? TensorName::OParts
                                       : TensorName::KvLens;
  uint64_t address = bound.view(lender).address;
  for (size_t n = 0; n < module.roles.size(); ++n)
    if (const TensorRole &role = module.roles[n];
        role.form != Form::Capture && isEmpty(*bound.tensors[n]))
      bound.view(role.tensor).address = address;
}

/// Places the partial results in the workspace.
void placeParts(const FmhaLaunchOptions &options, int64_t splits,
                BoundTensors &bound) {
  bound.parts = launch::partsAt(uint64_t(uintptr_t(options.workspace)), splits,
                                bound.view(TensorName::O).dims);
  bound.view(TensorName::OParts) = bound.parts.o;
  bound.view(TensorName::MaxParts) = bound.parts.max;
  bound.view(TensorName::SumParts) = bound.parts.sum;
  launch::setPartStrides(splits, bound.parts, bound.values);
}

/// Uses the partial results of a merge, which have their own strides.
void takeParts(const FmhaModuleImpl &module, BoundTensors &bound) {
  auto step = [&](TensorName name) {
    return strideOf(*bound.tensors[module.places[size_t(name)]], 0);
  };
  bound.parts = {bound.view(TensorName::OParts),
                 bound.view(TensorName::MaxParts),
                 bound.view(TensorName::SumParts)};
  bound.parts.steps = {step(TensorName::OParts), step(TensorName::MaxParts),
                       step(TensorName::SumParts)};
  int64_t parts =
      bound.tensors[module.places[size_t(TensorName::OParts)]]->shape[0];
  launch::setPartStrides(parts, bound.parts, bound.values);
}

void setStrides(const FmhaModuleImpl &module, BoundTensors &bound) {
  constexpr std::pair<TensorName, RunValue> matrices[] = {
      {TensorName::Q, RunValue::QStrideBatch},
      {TensorName::K, RunValue::KStrideBatch},
      {TensorName::V, RunValue::VStrideBatch},
      {TensorName::O, RunValue::OStrideBatch},
      {TensorName::KeyNew, RunValue::KeyNewStrideBatch},
      {TensorName::ValueNew, RunValue::ValueNewStrideBatch},
      {TensorName::QOut, RunValue::QOutStrideBatch}};
  for (auto [name, stride] : matrices)
    if (module.places[size_t(name)] >= 0)
      launch::setMatrixStrides(stride, bound.view(name), bound.values);
  constexpr std::pair<TensorName, RunValue> rows[] = {
      {TensorName::Lse, RunValue::LseStrideBatch},
      {TensorName::RowMax, RunValue::RowMaxStrideBatch},
      {TensorName::RowSum, RunValue::RowSumStrideBatch}};
  for (auto [name, stride] : rows)
    if (module.places[size_t(name)] >= 0)
      launch::setRowStrides(stride, bound.view(name), bound.values);
  constexpr std::pair<TensorName, RunValue> angles[] = {
      {TensorName::RotaryCos, RunValue::RotaryCosStrideRow},
      {TensorName::RotarySin, RunValue::RotarySinStrideRow}};
  constexpr int positions = 2;
  for (auto [name, stride] : angles)
    if (module.places[size_t(name)] >= 0)
      bound.values[stride] = uint64_t(bound.view(name).strides[positions]);
}

} // namespace

FmhaStatus bindAddresses(const FmhaModuleImpl &module,
                         const FmhaLaunchOptions &options,
                         BoundTensors &bound) {
  for (size_t n = 0; n < module.roles.size(); ++n)
    if (FmhaStatus status = checkPlacement(module.roles[n], *bound.tensors[n]))
      return status;
  if (FmhaStatus status = checkViews(module, bound))
    return status;
  uint64_t bytes = bound.workspaceBytes;
  if (FmhaStatus status = checkWorkspace(options, bytes))
    return status;
  launch::Region workspace(uint64_t(uintptr_t(options.workspace)), bytes);
  if (FmhaStatus status = checkOverlaps(module, bound, workspace))
    return status;
  borrowAddresses(module, bound);
  setStrides(module, bound);
  if (module.splits())
    placeParts(options, module.splits(), bound);
  if (module.countsTiles())
    bound.view(TensorName::TileCounter).address =
        uint64_t(uintptr_t(options.workspace)) + bytes -
        launch::tileCounterBytes;
  if (module.merge)
    takeParts(module, bound);
  return FMHA_SUCCESS;
}

} // namespace fmha::capi
