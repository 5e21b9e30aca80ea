//===- ProgramAbi.cpp - Parameters of a compiled program ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Kernel/ProgramAbi.h"
#include "fmha/Schedule/Model/Lists.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace fmha;
using Kind = KernelParameter::Kind;

/// Whether threads access the memref directly, in global memory.
static bool isGlobal(MemRefType type) {
  auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(type.getMemorySpace());
  return space && space.getValue() == gpu::AddressSpace::Global;
}

/// Whether elements of the last dimension are consecutive.
static bool isDense(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         (strides.empty() || strides.back() == 1);
}

static std::optional<Kind> kindOf(Type type) {
  if (type.isSignlessInteger(32))
    return Kind::U32;
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return std::nullopt;
  Type element = memref.getElementType();
  if (isGlobal(memref))
    return isDense(memref) ? std::optional(Kind::Pointer) : std::nullopt;
  if (memref.getMemorySpace() || (memref.getRank() == 4 && !isDense(memref)))
    return std::nullopt;
  if (memref.getRank() == 4 && (element.isF16() || element.isBF16()))
    return Kind::TensorMap;
  bool isOutput = memref.getRank() == 4 || memref.getRank() == 3;
  return isOutput && element.isF32() ? std::optional(Kind::Pointer)
                                     : std::nullopt;
}

std::string fmha::programExtent(const std::string &operand,
                                unsigned dimension) {
  return operand + "_size" + std::to_string(dimension);
}

namespace {
struct Stride {
  std::string suffix;
  unsigned dimension;
};
} // namespace

/// Returns the strides that threads need of a memref of `type`: all but that of
/// the elements that are stored together.
static SmallVector<Stride> stridesOf(MemRefType type) {
  SmallVector<Stride> strides;
  if (isGlobal(type)) {
    for (unsigned d = 0; d + 1 < type.getRank(); ++d)
      strides.push_back({"_stride" + std::to_string(d), d});
    return strides;
  }
  bool isRows = type.getRank() == 3;
  for (unsigned d = 0; d < 3; ++d)
    strides.push_back(
        {isRows ? schedule::rowStrides[d] : schedule::outputStrides[d], d});
  return strides;
}

/// Appends the extents and strides of `operand`, a memref of `type`.
static void appendShape(std::vector<KernelParameter> &parameters,
                        const KernelParameter &operand, MemRefType type) {
  auto append = [&](std::string name, Kind kind, unsigned dimension) {
    parameters.push_back(
        {std::move(name), kind, operand.capture, operand.operand, dimension});
  };
  for (unsigned d = 0; d < type.getRank(); ++d)
    if (operand.capture || type.isDynamicDim(d))
      append(programExtent(operand.name, d), Kind::U32, d);
  if (operand.kind == Kind::Pointer)
    for (const Stride &stride : stridesOf(type))
      append(operand.name + stride.suffix, Kind::U64, stride.dimension);
}

FailureOr<std::vector<KernelParameter>>
fmha::programParameters(ArrayRef<Type> operands,
                        function_ref<InFlightDiagnostic()> emitError) {
  std::vector<KernelParameter> parameters;
  unsigned captures = 0;
  for (auto [n, type] : llvm::enumerate(operands)) {
    std::optional<Kind> kind = kindOf(type);
    if (!kind)
      return emitError()
             << "expected operand " << n
             << " to be a memref of rank 4 of f16, bf16 or f32, a memref of "
                "rank 3 of f32, a memref in #gpu.address_space<global>, all "
                "with a last stride of 1 where they have rows, or an i32, got "
             << type;
    auto memref = dyn_cast<MemRefType>(type);
    KernelParameter parameter{"arg" + std::to_string(n), *kind};
    if (memref && isGlobal(memref)) {
      parameter.name = "capture" + std::to_string(captures);
      parameter.capture = captures++;
    }
    parameter.operand = n;
    parameters.push_back(std::move(parameter));
  }
  for (auto [n, type] : llvm::enumerate(operands))
    if (auto memref = dyn_cast<MemRefType>(type))
      appendShape(parameters, KernelParameter(parameters[n]), memref);
  return parameters;
}
