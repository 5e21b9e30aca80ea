//===- TensorRole.cpp - The tensors of a kernel ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorRole.h"

#include "fmha/Schedule/Model/Lists.h"

#include <algorithm>

namespace fmha::capi {
namespace {

using launch::ElementType;
using launch::TensorName;

DLDataType typeOf(launch::CaptureElement element) {
  using enum launch::CaptureElement;
  uint8_t code = kDLInt;
  if (element == I1)
    code = kDLBool;
  else if (element == BF16)
    code = kDLBfloat;
  else if (element == F16 || element == F32)
    code = kDLFloat;
  return {code, uint8_t(8 * sizeOf(element)), 1};
}

DLDataType typeOf(ElementType element) {
  if (element == ElementType::E4M3)
    return {kDLFloat8_e4m3fn, 8, 1};
  return typeOf(*launch::parseName<launch::CaptureElement>(nameOf(element)));
}

/// Returns "bfloat16", "float32", "int8".
std::string typeText(DLDataType type) {
  constexpr const char *names[] = {"int",    "uint",    "float", "opaque",
                                   "bfloat", "complex", "bool"};
  if (type.code == kDLFloat8_e4m3fn && type.bits == 8 && type.lanes == 1)
    return "float8_e4m3fn";
  std::string text =
      type.code < std::size(names) ? names[type.code] : "type code ";
  if (type.code >= std::size(names))
    text += std::to_string(type.code) + " of bits ";
  text += std::to_string(type.bits);
  return type.lanes == 1 ? text : text + "x" + std::to_string(type.lanes);
}

bool matches(DLDataType wanted, DLDataType got) {
  // Kernels read masks as bytes that are 0 or 1.
  bool isByte = wanted.code == kDLInt && wanted.bits == 8;
  bool sameCode = wanted.code == got.code || (isByte && got.code == kDLBool);
  // Older versions of DLPack have no code for e4m3, whose bytes do as well.
  if (wanted.code == kDLFloat8_e4m3fn)
    sameCode |= got.code == kDLUInt;
  return sameCode && wanted.bits == got.bits && wanted.lanes == got.lanes;
}

const char *deviceText(int type) {
  switch (type) {
  case kDLCPU:
    return "kDLCPU";
  case kDLCUDA:
    return "kDLCUDA";
  case kDLCUDAHost:
    return "kDLCUDAHost";
  case kDLCUDAManaged:
    return "kDLCUDAManaged";
  }
  return "another device";
}

/// Returns the dimensions of a tensor of the form Table.
const char *dimensionsOfTable(TensorName name) {
  switch (name) {
  case TensorName::Topk:
    return "[batch, length, entries]";
  case TensorName::KvNumBlocks:
  case TensorName::FullKvNumBlocks:
    return "[batch, heads, row blocks]";
  case TensorName::KvIndices:
  case TensorName::FullKvIndices:
    return "[batch, heads, row blocks, entries]";
  default:
    return "[sequences, entries]";
  }
}

std::string dimensions(const TensorRole &role) {
  constexpr const char *rows[] = {"parts", "batch", "length", "heads", "dim"};
  constexpr const char *numbers[] = {"parts", "batch", "heads", "length"};
  if (role.form == Form::List)
    return "[entries]";
  if (role.form == Form::Table)
    return dimensionsOfTable(role.tensor);
  if (role.form == Form::Angles)
    return "[positions, pairs]";
  if (role.form == Form::Capture)
    return std::to_string(role.rank) + " dimensions";
  bool isRows = role.form == Form::Rows;
  int32_t names = isRows ? 5 : 4;
  std::string text;
  for (int32_t n = names - role.rank; n < names; ++n)
    text += (text.empty() ? "[" : ", ") +
            std::string(isRows ? rows[n] : numbers[n]);
  return text + "]";
}

FmhaStatus reject(FmhaStatus status, const TensorRole &role,
                  const std::string &why) {
  return fail(status, "tensor '" + role.name + "': expected " + why);
}

/// Returns the role of a tensor with a length and heads.
TensorRole rowsOf(TensorName name, ElementType type, int32_t rank) {
  TensorRole role;
  role.name = nameOf(name);
  role.tensor = name;
  role.dtype = typeOf(type);
  role.rank = rank;
  role.alignment = 16;
  return role;
}

TensorRole numbersOf(TensorName name, int32_t rank) {
  TensorRole role = rowsOf(name, ElementType::F32, rank);
  role.form = Form::Numbers;
  role.alignment = 4;
  return role;
}

TensorRole listOf(TensorName name) {
  TensorRole role = numbersOf(name, 1);
  role.form = Form::List;
  if (!schedule::isFloatList(nameOf(name)))
    role.dtype = {kDLInt, 32, 1};
  return role;
}

/// Returns the role of a dense tensor of 32-bit integers: a matrix, or one with
/// a row per query or per block of them.
TensorRole tableOf(TensorName name, int32_t rank = 2) {
  TensorRole role = listOf(name);
  role.form = Form::Table;
  role.rank = rank;
  return role;
}

/// Returns the role of a table of angles, [positions, pairs].
TensorRole anglesOf(TensorName name) {
  TensorRole role = rowsOf(name, ElementType::F32, 2);
  role.form = Form::Angles;
  role.alignment = uint32_t(sizeOf(ElementType::F32));
  return role;
}

TensorRole outputOf(TensorRole role) {
  role.isOutput = true;
  return role;
}

bool takesStrideOfRows(const launch::KernelLaunch &kernel, TensorName name) {
  launch::RunValue batch =
      name == TensorName::Lse      ? launch::RunValue::LseStrideBatch
      : name == TensorName::RowMax ? launch::RunValue::RowMaxStrideBatch
                                   : launch::RunValue::RowSumStrideBatch;
  return kernel.takes(launch::after(batch, 2));
}

TensorRole roleOf(TensorName name, const launch::Manifest &manifest) {
  bool ofKeys = name == TensorName::K || name == TensorName::V;
  bool packed = ofKeys ? manifest.cuSeqlensK : manifest.cuSeqlensQ;
  switch (name) {
  case TensorName::Q:
    return rowsOf(name, manifest.dtype, packed ? 3 : 4);
  case TensorName::K:
  case TensorName::V: {
    TensorRole role = rowsOf(name, manifest.kvDtype, packed ? 3 : 4);
    return manifest.keyNew ? outputOf(role) : role;
  }
  case TensorName::KeyNew:
  case TensorName::ValueNew:
  case TensorName::K2:
  case TensorName::V2:
    return rowsOf(name, manifest.kvDtype, 4);
  case TensorName::O:
    return outputOf(rowsOf(name, manifest.outDtype, packed ? 3 : 4));
  case TensorName::Lse:
  case TensorName::RowMax:
  case TensorName::RowSum: {
    TensorRole role = outputOf(numbersOf(name, packed ? 2 : 3));
    role.unitRows =
        !takesStrideOfRows(manifest, name) &&
        !(manifest.combine && takesStrideOfRows(*manifest.combine, name));
    return role;
  }
  case TensorName::BlockTables:
    return tableOf(name);
  case TensorName::Topk:
  case TensorName::KvNumBlocks:
  case TensorName::FullKvNumBlocks:
    return tableOf(name, 3);
  case TensorName::KvIndices:
  case TensorName::FullKvIndices:
    return tableOf(name, 4);
  case TensorName::RotaryCos:
  case TensorName::RotarySin:
    return anglesOf(name);
  default:
    return listOf(name);
  }
}

TensorRole roleOf(TensorName name, const launch::MergeManifest &manifest) {
  switch (name) {
  case TensorName::O:
    return outputOf(rowsOf(name, manifest.outDtype, 4));
  case TensorName::Sink:
    return listOf(name);
  case TensorName::OParts:
  case TensorName::MaxParts:
  case TensorName::SumParts: {
    bool isRows = name == TensorName::OParts;
    TensorRole role =
        isRows ? rowsOf(name, ElementType::F32, 5) : numbersOf(name, 4);
    role.hasParts = true;
    return role;
  }
  default: {
    TensorRole role = outputOf(numbersOf(name, 3));
    role.unitRows = !takesStrideOfRows(manifest, name);
    return role;
  }
  }
}

TensorRole roleOf(TensorName name, const launch::AppendManifest &manifest) {
  switch (name) {
  case TensorName::KvLens:
    return listOf(name);
  case TensorName::BlockTables:
    return tableOf(name);
  case TensorName::RotaryCos:
  case TensorName::RotarySin:
    return anglesOf(name);
  default: {
    TensorRole role = rowsOf(name, manifest.dtype, 4);
    role.alignment = uint32_t(sizeOf(manifest.dtype));
    role.isOutput = name == TensorName::K || name == TensorName::V ||
                    name == TensorName::QOut;
    return role;
  }
  }
}

bool isWorkspace(TensorName name) {
  return name == TensorName::OParts || name == TensorName::MaxParts ||
         name == TensorName::SumParts || name == TensorName::TileCounter;
}

} // namespace

std::vector<TensorRole> rolesOf(const launch::Manifest &manifest) {
  std::vector<TensorRole> roles;
  for (size_t n = 0; n < launch::tensorCount; ++n)
    if (TensorName name = TensorName(n);
        manifest.has(name) && !isWorkspace(name))
      roles.push_back(roleOf(name, manifest));
  for (const launch::CaptureType &capture : manifest.captures) {
    TensorRole role;
    role.name = "capture" + std::to_string(&capture - &manifest.captures[0]);
    role.form = Form::Capture;
    role.dtype = typeOf(capture.element);
    role.rank = int32_t(capture.rank);
    role.alignment = uint32_t(sizeOf(capture.element));
    roles.push_back(role);
  }
  return roles;
}

/// Lists the tensors of a kernel without a workspace or captures.
template <typename ManifestT>
static std::vector<TensorRole> plainRolesOf(const ManifestT &manifest) {
  std::vector<TensorRole> roles;
  for (size_t n = 0; n < launch::tensorCount; ++n)
    if (TensorName name = TensorName(n); manifest.has(name))
      roles.push_back(roleOf(name, manifest));
  return roles;
}

std::vector<TensorRole> rolesOf(const launch::MergeManifest &manifest) {
  return plainRolesOf(manifest);
}

std::vector<TensorRole> rolesOf(const launch::AppendManifest &manifest) {
  return plainRolesOf(manifest);
}

int64_t strideOf(const DLTensor &tensor, int32_t d) {
  if (tensor.strides)
    return tensor.strides[d];
  int64_t stride = 1;
  for (int32_t n = tensor.ndim - 1; n > d; --n)
    stride *= tensor.shape[n];
  return stride;
}

uint64_t addressOf(const DLTensor &tensor) {
  return uint64_t(uintptr_t(tensor.data)) + tensor.byte_offset;
}

bool isEmpty(const DLTensor &tensor) {
  for (int32_t d = 0; d < tensor.ndim; ++d)
    if (tensor.shape[d] == 0)
      return true;
  return false;
}

std::string shapeText(const int64_t *shape, int32_t rank) {
  std::string text = "[";
  for (int32_t d = 0; d < rank; ++d)
    text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + "]";
}

FmhaStatus checkShape(const TensorRole &role, const DLTensor *tensor,
                      int32_t device) {
  if (!tensor)
    return reject(FMHA_ERROR_INVALID_ARGUMENT, role,
                  "a DLTensor, got NULL; pass every tensor that the kernel "
                  "has, as fmhaTensorName() lists them");
  int type = tensor->device.device_type;
  if (type != kDLCUDA && type != kDLCUDAManaged)
    return reject(FMHA_ERROR_DEVICE, role,
                  "memory of a device (kDLCUDA or kDLCUDAManaged), got " +
                      std::string(deviceText(type)) + " (" +
                      std::to_string(type) + "); copy it to device " +
                      std::to_string(device));
  if (tensor->device.device_id != device)
    return reject(FMHA_ERROR_DEVICE, role,
                  "memory of device " + std::to_string(device) +
                      ", where the module was loaded, got device " +
                      std::to_string(tensor->device.device_id) +
                      "; copy it, or load the module there too");
  if (!matches(role.dtype, tensor->dtype))
    return reject(FMHA_ERROR_DTYPE, role,
                  "elements of type " + typeText(role.dtype) + ", got " +
                      typeText(tensor->dtype) +
                      "; convert it, or compile for that type");
  if (tensor->ndim != role.rank || (role.rank && !tensor->shape))
    return reject(
        FMHA_ERROR_SHAPE, role,
        dimensions(role) + ", got " +
            (tensor->shape ? std::to_string(tensor->ndim) : std::string("no")) +
            " dimensions; reshape it");
  // Products of extents stay far below the limits of 64 bits.
  int64_t elements = 1, least = 0;
  bool beyond = false;
  for (int32_t d = 0; d < role.rank; ++d) {
    int64_t extent = tensor->shape[d];
    least = std::min(least, extent);
    beyond |= __builtin_mul_overflow(elements, std::max<int64_t>(extent, 1),
                                     &elements);
  }
  if (least < 0 || beyond || elements > INT64_C(1) << 44)
    return reject(FMHA_ERROR_SHAPE, role,
                  "extents from 0 on, and at most 2^44 elements, got " +
                      shapeText(tensor->shape, role.rank));
  return FMHA_SUCCESS;
}

/// Returns whether dimension `d` has stride 1 in every tensor of that role.
static bool isContiguous(const TensorRole &role, int32_t d) {
  bool last = d == role.rank - 1;
  return last && (role.form != Form::Numbers || role.unitRows);
}

static FmhaStatus checkStride(const TensorRole &role, const DLTensor &tensor,
                              int32_t d) {
  int64_t stride = strideOf(tensor, d), bytes = 0;
  auto got = [&] {
    return ", got " + std::to_string(stride) + " elements in dimension " +
           std::to_string(d) + " of shape " +
           shapeText(tensor.shape, tensor.ndim);
  };
  if (isContiguous(role, d))
    return stride == 1 ? FMHA_SUCCESS
                       : reject(FMHA_ERROR_STRIDES, role,
                                "stride 1 in the last dimension" + got() +
                                    "; make it contiguous there");
  if (stride < 0 ||
      __builtin_mul_overflow(stride, int64_t(role.elementBytes()), &bytes) ||
      bytes >= INT64_C(1) << 40)
    return reject(FMHA_ERROR_STRIDES, role,
                  "strides from 0 to less than 2^40 bytes" + got() +
                      "; copy it to a dense tensor");
  int64_t rowElements = 1;
  for (int32_t n = d + 1; n < tensor.ndim; ++n)
    rowElements *= tensor.shape[n];
  if (role.form == Form::Table && stride != rowElements)
    return reject(FMHA_ERROR_STRIDES, role,
                  "rows without gaps" + got() + "; copy it to a dense tensor");
  if (bytes % role.alignment)
    return reject(FMHA_ERROR_STRIDES, role,
                  "strides that are multiples of " +
                      std::to_string(role.alignment) + " bytes" + got() +
                      "; pad its rows");
  if (role.isOutput && stride == 0)
    return reject(FMHA_ERROR_STRIDES, role,
                  "an output whose elements have memory of their own" + got() +
                      "; give it strides above 0");
  return FMHA_SUCCESS;
}

FmhaStatus checkPlacement(const TensorRole &role, const DLTensor &tensor) {
  if (isEmpty(tensor))
    return FMHA_SUCCESS;
  if (!tensor.data)
    return reject(FMHA_ERROR_INVALID_ARGUMENT, role,
                  "the address of " + shapeText(tensor.shape, tensor.ndim) +
                      " elements, got NULL");
  if (uint64_t past = addressOf(tensor) % role.alignment)
    return reject(FMHA_ERROR_ALIGNMENT, role,
                  "an address that is a multiple of " +
                      std::to_string(role.alignment) + " bytes, got one " +
                      std::to_string(past) +
                      " bytes past; copy it to an aligned buffer");
  for (int32_t d = 0; d < tensor.ndim; ++d)
    if (tensor.shape[d] > 1)
      if (FmhaStatus status = checkStride(role, tensor, d))
        return status;
  return FMHA_SUCCESS;
}

launch::View viewOf(const TensorRole &role, const DLTensor &tensor) {
  constexpr int rows[4] = {0, 1, 2, 3}, numbers[3] = {0, 2, 1};
  bool isRows = role.form == Form::Rows || role.form == Form::Angles;
  const int *order = isRows ? rows : numbers;
  int32_t own = isRows ? 4 : 3;
  launch::View view{addressOf(tensor), {1, 1, 1, 1}, {0, 0, 0, 1}};
  int32_t given = role.rank - role.hasParts, missing = own - given;
  bool empty = isEmpty(tensor);
  for (int32_t n = 0; n < given; ++n) {
    int32_t d = n + role.hasParts;
    view.dims[order[n + missing]] = tensor.shape[d];
    view.strides[order[n + missing]] = strideOf(tensor, d);
  }
  // A stride that no kernel uses must still be valid for TMA.
  int64_t row = (view.dims[3] + 15) / 16 * 16;
  for (int n = 0; n < 3; ++n)
    if (view.dims[n] <= 1 || empty)
      view.strides[n] = row;
  view.strides[3] = 1;
  return view;
}

} // namespace fmha::capi
