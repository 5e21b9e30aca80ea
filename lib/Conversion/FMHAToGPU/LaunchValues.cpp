//===- LaunchValues.cpp - Values of a launch in the host program ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchValues.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fmha;
using runtime::MapDim;
using runtime::Parameter;
using runtime::RunValue;
using runtime::TensorName;

void LaunchValues::addTensor(TensorName name, Value memref) {
  views[name] = viewOf(math, memref);
}

void LaunchValues::addCapture(Value memref) {
  captures.push_back(viewOf(math, memref));
}

const TensorView &LaunchValues::view(TensorName name) const {
  return views.at(name);
}

Value LaunchValues::value(RunValue which) {
  Value &slot = known[which];
  if (!slot)
    slot = compute(which);
  return slot;
}

/// Emits a run-time value. Tensors have the dimensions [batch, length, heads,
/// dim]. A merge has no q; its extents come from the output, which has the same
/// ones, and the batch of an append from key_new.
Value LaunchValues::compute(RunValue which) {
  TensorName rows = has(TensorName::Q)        ? TensorName::Q
                    : has(TensorName::KeyNew) ? TensorName::KeyNew
                                              : TensorName::O;
  auto orNone = [&](TensorName name, unsigned dimension) {
    return has(name) ? view(name).sizes[dimension] : math.constant(0);
  };
  switch (which) {
  case RunValue::Batch:
    if (has(TensorName::CuSeqlensQ))
      return math.sub(view(TensorName::CuSeqlensQ).sizes[0], math.constant(1));
    return view(rows).sizes[0];
  case RunValue::QLen:
  // cu_seqlens_q is in device memory, so the longest sequence is unknown; CTAs
  // without rows exit immediately.
  case RunValue::MaxQLen:
    return view(rows).sizes[1];
  case RunValue::QHeads:
    return view(rows).sizes[2];
  case RunValue::KvLen:
    if (has(TensorName::BlockTables))
      return math.mul(value(RunValue::MaxPages), view(TensorName::K).sizes[1]);
    return view(TensorName::K).sizes[1];
  case RunValue::MaxPages:
    return view(TensorName::BlockTables).sizes[1];
  case RunValue::TopkLen:
    return view(TensorName::Topk).sizes[2];
  case RunValue::BlocksBatch:
    return view(TensorName::KvIndices).sizes[0];
  case RunValue::BlocksHeads:
    return view(TensorName::KvIndices).sizes[1];
  case RunValue::BlocksLen:
    return view(TensorName::KvIndices).sizes[3];
  case RunValue::FullBlocksLen:
    return view(TensorName::FullKvIndices).sizes[3];
  case RunValue::Pages:
    return view(TensorName::K).sizes[0];
  case RunValue::KvLen2:
    return view(TensorName::K2).sizes[1];
  case RunValue::KvHeads:
    return view(TensorName::K).sizes[2];
  case RunValue::Group:
    return math.div(value(RunValue::QHeads),
                    math.max(value(RunValue::KvHeads), math.constant(1)));
  case RunValue::Parts:
    return view(TensorName::OParts).sizes[0];
  case RunValue::NewLen:
    return view(TensorName::KeyNew).sizes[1];
  case RunValue::AppendRows:
    return math.max(value(RunValue::NewLen), orNone(TensorName::Q, 1));
  case RunValue::AppendHeads:
    return math.add(value(RunValue::KvHeads), orNone(TensorName::Q, 2));
  case RunValue::Positions:
    return view(TensorName::RotaryCos).sizes[0];
  default:
    return stride(runtime::stringify(which));
  }
}

/// Returns the stride with this name in the manifest: "max_parts_stride_head"
/// is the stride of the dimension `head` of max_parts.
Value LaunchValues::stride(StringRef name) {
  auto [tensor, axis] = name.split("_stride_");
  // Of tensors with rows of heads, and of those with one number per row.
  constexpr StringLiteral matrixAxes[] = {"part", "batch", "row", "head",
                                          "vector"};
  constexpr StringLiteral rowAxes[] = {"part", "batch", "head", "row"};
  for (const auto &[other, view] : views) {
    if (runtime::stringify(other) != tensor)
      continue;
    bool isPart = tensor.ends_with("_parts");
    if (view.strides.size() == 2)
      return view.strides[0];
    bool isNumber = tensor == "lse" || tensor.starts_with("row_") ||
                    (isPart && tensor != "o_parts");
    ArrayRef<StringLiteral> axes = isNumber ? ArrayRef(rowAxes) : matrixAxes;
    auto place = llvm::find(axes, axis) - axes.begin();
    return view.strides[place - (isPart ? 0 : 1)];
  }
  llvm_unreachable("a manifest names strides of tensors that its kernel has");
}

Value LaunchValues::extent(const std::vector<runtime::GridFactor> &factors) {
  Value product = math.constant(1);
  for (const runtime::GridFactor &factor : factors)
    product = math.mul(product,
                       factor.constant
                           ? math.constant(int64_t(factor.constant))
                           : math.ceilDiv(value(factor.value), factor.divisor));
  return product;
}

std::array<Value, 3> LaunchValues::tiles(const runtime::KernelLaunch &launch) {
  std::array<Value, 3> extents;
  for (auto [to, factors] : llvm::zip_equal(extents, launch.grid))
    to = extent(factors);
  known[RunValue::Tiles] = extents[0];
  return extents;
}

SmallVector<Value>
LaunchValues::arguments(const runtime::KernelLaunch &launch) {
  return llvm::map_to_vector(
      launch.parameters, [&](const Parameter &one) { return argument(one); });
}

Value LaunchValues::argument(const Parameter &parameter) {
  if (parameter.capture)
    return capture(parameter);
  switch (parameter.kind) {
  case Parameter::Kind::TensorMap:
    return tensorMap(parameter);
  case Parameter::Kind::Pointer:
    return math.cast(view(parameter.tensor).address, 64);
  case Parameter::Kind::U32:
    return math.cast(value(parameter.value), 32);
  case Parameter::Kind::U64:
    return math.cast(value(parameter.value), 64);
  }
  llvm_unreachable("every kind is listed");
}

/// Returns the value of a parameter of a capture. An empty tensor has extents
/// of 1 and the address of q; the kernel ignores the elements that it reads
/// there.
Value LaunchValues::capture(const Parameter &parameter) {
  const TensorView &source = captures[*parameter.capture];
  if (parameter.size)
    return math.cast(math.max(source.sizes[*parameter.size], math.constant(1)),
                     32);
  if (parameter.stride)
    return math.cast(source.strides[*parameter.stride], 64);
  return math.cast(addressOr(source, view(TensorName::Q)), 64);
}

/// Returns the extent and the stride in elements of the dimension `chunks`: a
/// chunk has 16 bytes, and the last chunk begins at the last row.
std::pair<Value, Value> LaunchValues::chunksOf(const TensorView &tensor) {
  constexpr int64_t chunkBytes = 16;
  Value one = math.constant(1), last = math.constant(0);
  for (auto [size, stride] :
       llvm::zip(ArrayRef(tensor.sizes).drop_back(), ArrayRef(tensor.strides)))
    last = math.add(last, math.mul(math.sub(math.max(size, one), one), stride));
  int64_t step = chunkBytes / tensor.elementBytes;
  return {math.add(math.div(last, math.constant(step)), one),
          math.constant(step)};
}

std::pair<Value, Value> LaunchValues::mapDim(MapDim dim, TensorName name) {
  const TensorView &tensor = view(name);
  bool isQuery = name == TensorName::Q || name == TensorName::O;
  switch (dim) {
  case MapDim::HeadDim:
  case MapDim::HeadDimV:
    return {tensor.sizes[3], tensor.strides[3]};
  case MapDim::QLen:
  case MapDim::KvLen:
  case MapDim::KvLen2:
  case MapDim::PageSize:
    return {tensor.sizes[1], tensor.strides[1]};
  case MapDim::QHeads:
    return {tensor.sizes[2], tensor.strides[2]};
  case MapDim::KvHeads:
    // Head h of q is KV head h / group and member h % group of its group.
    if (isQuery)
      return {value(RunValue::KvHeads),
              math.mul(tensor.strides[2], value(RunValue::Group))};
    return {tensor.sizes[2], tensor.strides[2]};
  case MapDim::Group:
    return {value(RunValue::Group), tensor.strides[2]};
  case MapDim::Batch:
  case MapDim::Pages:
    return {tensor.sizes[0], tensor.strides[0]};
  case MapDim::Chunks:
    return chunksOf(tensor);
  }
  llvm_unreachable("every dimension is listed");
}

/// The driver rejects strides that are not multiples of 16 bytes, even for
/// dimensions of extent 1; such a dimension gets a valid stride instead.
Value LaunchValues::mapStride(Value size, Value stride) {
  constexpr int64_t unit = 16;
  if (knownNumber(stride).value_or(1) % unit == 0)
    return stride;
  Value isStepped =
      math.compare(arith::CmpIPredicate::ugt, size, math.constant(1));
  return math.select(isStepped, stride, math.constant(unit));
}

/// Returns the address of `tensor`, or that of `other` if `tensor` is empty and
/// its address may therefore be null.
Value LaunchValues::addressOr(const TensorView &tensor,
                              const TensorView &other) {
  Value zero = math.constant(0);
  Value isEmpty = arith::ConstantIntOp::create(math.b, math.loc, 0, 1);
  for (Value size : tensor.sizes)
    isEmpty = math.either(isEmpty,
                          math.compare(arith::CmpIPredicate::eq, size, zero));
  return math.select(isEmpty, other.address, tensor.address);
}

Value LaunchValues::tensorMap(const Parameter &parameter) {
  const TensorView &tensor = view(parameter.tensor);
  Value one = math.constant(1), bytes = math.constant(tensor.elementBytes);
  SmallVector<Value> sizes, strides;
  for (MapDim dim : parameter.dims) {
    auto [size, stride] = mapDim(dim, parameter.tensor);
    sizes.push_back(math.max(size, one));
    strides.push_back(mapStride(size, math.mul(stride, bytes)));
  }
  // There is no launch if q is empty. The driver rejects a null address;
  // nothing is loaded through the map of an empty tensor.
  bool isQuery =
      parameter.tensor == TensorName::Q || parameter.tensor == TensorName::O;
  Value address =
      isQuery ? tensor.address : addressOr(tensor, view(TensorName::O));
  SmallVector<int32_t> box(parameter.box.begin(), parameter.box.end());
  // include/fmha/Runtime/README.md describes the fifth dimension of sequences.
  if (parameter.sequences) {
    size_t rows = *parameter.rowDim();
    Value step = mapStride(tensor.sizes[1], math.mul(tensor.strides[1], bytes));
    address = math.sub(address, math.mul(sizes[rows], step));
    strides[rows] = step;
    sizes.push_back(math.add(sizes[rows], one));
    strides.push_back(step);
    box.push_back(1);
  }
  Type element = parameter.dtype == runtime::ElementType::F16
                     ? Type(math.b.getF16Type())
                 : parameter.dtype == runtime::ElementType::F32
                     ? Type(math.b.getF32Type())
                     : Type(math.b.getBF16Type());
  return TensorMapOp::create(math.b, math.loc, address, sizes,
                             ArrayRef(strides).drop_front(), box, element,
                             unsigned(parameter.swizzle));
}
