//===- ProgramManifest.cpp - The launch of a program ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramManifest.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Kernel/ProgramAbi.h"
#include "fmha/Layout/SmemTile.h"
#include "fmha/Version.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace fmha;
namespace json = llvm::json;
using Kind = KernelParameter::Kind;

static tile::KernelAttr kernelOf(LLVM::LLVMFuncOp func) {
  return func->getAttrOfType<tile::KernelAttr>("tile.kernel");
}

/// Describes the tensor map of `operand`, a memref [batch, length, heads, dim],
/// innermost dimension first, with boxes of one swizzle span.
static void addTensorMap(json::Object &object, MemRefType type,
                         tile::KernelAttr kernel, unsigned operand) {
  constexpr int64_t boxColumns = layout::PanelTile::panelColumns;
  object["dtype"] = debugString(type.getElementType());
  object["dims"] = json::Array{3, 1, 2, 0};
  // A driver rejects an empty box, also of an operand that nothing copies.
  object["box"] =
      json::Array{boxColumns, std::max(kernel.getBoxRows()[operand], 1), 1, 1};
  object["swizzle"] = "128B";
  // The map then ends where a view does: include/fmha/Runtime/README.md.
  if (kernel.getSequences() && kernel.getSequences()[operand])
    object["sequences"] = true;
}

static StringRef nameOf(Kind kind) {
  switch (kind) {
  case Kind::TensorMap:
    return "tensor_map";
  case Kind::Pointer:
    return "pointer";
  case Kind::U64:
    return "u64";
  case Kind::U32:
    return "u32";
  }
  llvm_unreachable("every kind is listed");
}

static json::Array parametersOf(LLVM::LLVMFuncOp func) {
  auto operands =
      llvm::to_vector(func->getAttrOfType<ArrayAttr>("tile.operands")
                          .getAsValueRange<TypeAttr>());
  std::vector<KernelParameter> parameters = *programParameters(
      operands, []() -> InFlightDiagnostic { return InFlightDiagnostic(); });
  json::Array all;
  for (const KernelParameter &parameter : parameters) {
    json::Object object{{"name", parameter.name},
                        {"kind", nameOf(parameter.kind)},
                        {"operand", parameter.operand}};
    if (parameter.kind == Kind::TensorMap)
      addTensorMap(object, cast<MemRefType>(operands[parameter.operand]),
                   kernelOf(func), parameter.operand);
    if (parameter.dimension)
      object[parameter.kind == Kind::U64 ? "stride" : "size"] =
          *parameter.dimension;
    all.push_back(std::move(object));
  }
  return all;
}

std::string fmha::programManifest(LLVM::LLVMFuncOp func,
                                  const std::string &id) {
  auto block = func->getAttrOfType<DenseI32ArrayAttr>(
      NVVM::NVVMDialect::getReqntidAttrName());
  json::Object manifest{
      {"format", "fmha-program"},
      {"schema_version", 1},
      {"id", id},
      {"kernel", func.getName()},
      {"target", kernelOf(func).getTarget()},
      {"block", block[0]},
      {"smem_bytes", tile::memoryOf(kernelOf(func)).smemBytes},
      {"parameters", parametersOf(func)}};
  return llvm::formatv("{0:2}", json::Value(std::move(manifest))).str() + "\n";
}

std::string fmha::programHeading(LLVM::LLVMFuncOp func) {
  return llvm::formatv("// fmha " FMHA_VERSION ", target {0}\n"
                       "// program {1}\n",
                       kernelOf(func).getTarget(), func.getName())
      .str();
}
