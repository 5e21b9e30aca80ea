//===- FMHAToTile.cpp - Lower attention ops to tiled kernels ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Append/AppendKernel.h"
#include "FMHAToFma/FmaKernel.h"
#include "KernelBuilder.h"
#include "KernelFunction.h"
#include "Merge/MergeKernel.h"
#include "SharedKernels.h"
#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace fmha {
#define GEN_PASS_DEF_CONVERTFMHATOTILE
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

struct ConvertFMHAToTilePass
    : public fmha::impl::ConvertFMHAToTileBase<ConvertFMHAToTilePass> {
  using ConvertFMHAToTileBase::ConvertFMHAToTileBase;
  void runOnOperation() override;
};

/// Builds the kernels of a module and of its nested modules.
class KernelMaker {
public:
  explicit KernelMaker(ModuleOp root) : root(root) {}
  LogicalResult run();

private:
  template <typename OpTy> LogicalResult collect(SmallVector<OpTy> &ops);
  template <typename OpTy> void convert(OpTy op);

  /// The kernels that ops of one module share.
  struct Scope {
    explicit Scope(Operation *module) : symbols(module) {}
    SymbolTable symbols;
    SharedKernels kernels;
  };
  Scope &scopeOf(Operation *op);

  ModuleOp root;
  DenseMap<Operation *, std::unique_ptr<Scope>> scopes;
};

/// Returns the symbol of a complete kernel, which waits for earlier grids.
SymbolRefAttr finish(gpu::GPUModuleOp module, StringRef kernel) {
  markProgrammatic(module, kernel);
  return SymbolRefAttr::get(
      module.getNameAttr(),
      {FlatSymbolRefAttr::get(module.getContext(), kernel)});
}

/// fmha.merge -> a gpu.module with the kernel of plain threads.
SymbolRefAttr buildKernel(MergeOp op, SymbolTable &symbols) {
  OpBuilder b(op.getContext());
  auto module = gpu::GPUModuleOp::create(b, op.getLoc(), "fmha_merge_kernel");
  symbols.insert(module);
  buildMergeKernel(module, op.getLoc(), "fmha_merge", mergeOf(op));
  return finish(module, "fmha_merge");
}

/// fmha.append -> the same.
SymbolRefAttr buildKernel(AppendOp op, SymbolTable &symbols) {
  OpBuilder b(op.getContext());
  auto module = gpu::GPUModuleOp::create(b, op.getLoc(), "fmha_append_kernel");
  symbols.insert(module);
  buildAppendKernel(module, op.getLoc(), "fmha_append", appendOf(op));
  return finish(module, "fmha_append");
}

SymbolRefAttr buildKernel(AttentionOp op, SymbolTable &symbols) {
  constexpr StringLiteral name = "fmha_fwd";
  const schedule::Schedule &plan = op.getScheduleAttr().getValue();
  gpu::GPUModuleOp module = makeModule(op, symbols);
  if (plan.family == schedule::FamilyKind::Fma)
    buildFmaKernel(op, module, name);
  else
    buildKernel(op, makeKernel(op, module, name));
  if (plan.splits > 1) {
    constexpr StringLiteral merge = "fmha_combine";
    buildMergeKernel(module, op.getLoc(), merge,
                     mergeOf(op.getProblem(), plan));
    markProgrammatic(module, merge);
  }
  return finish(module, name);
}

KernelMaker::Scope &KernelMaker::scopeOf(Operation *op) {
  Operation *module = SymbolTable::getNearestSymbolTable(op);
  std::unique_ptr<Scope> &scope = scopes[module];
  if (!scope)
    scope = std::make_unique<Scope>(module);
  return *scope;
}

/// Collects the ops without a kernel, and the kernels of the others.
template <typename OpTy>
LogicalResult KernelMaker::collect(SmallVector<OpTy> &ops) {
  WalkResult result = root.walk([&](OpTy op) {
    if (failed(checkKernelOp(op)))
      return WalkResult::interrupt();
    if (op->hasAttr("fmha.kernel"))
      scopeOf(op).kernels.add(op);
    else
      ops.push_back(op);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Converts `op`, which shares the kernel of an earlier op with equal results.
template <typename OpTy> void KernelMaker::convert(OpTy op) {
  Scope &scope = scopeOf(op);
  SymbolRefAttr kernel = scope.kernels.find(op);
  op->setAttr("fmha.kernel", kernel ? kernel : buildKernel(op, scope.symbols));
  if (kernel)
    return;
  scope.kernels.add(op);
  scope.symbols.getOp()->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                                 UnitAttr::get(op.getContext()));
}

LogicalResult KernelMaker::run() {
  SmallVector<AttentionOp> ops;
  SmallVector<MergeOp> merges;
  SmallVector<AppendOp> appends;
  // All ops are checked before any is changed.
  if (failed(collect(ops)) || failed(collect(merges)) ||
      failed(collect(appends)))
    return failure();
  llvm::for_each(merges, [&](MergeOp op) { convert(op); });
  llvm::for_each(appends, [&](AppendOp op) { convert(op); });
  llvm::for_each(ops, [&](AttentionOp op) { convert(op); });
  return success();
}

void ConvertFMHAToTilePass::runOnOperation() {
  if (failed(KernelMaker(getOperation()).run()))
    signalPassFailure();
}

} // namespace
