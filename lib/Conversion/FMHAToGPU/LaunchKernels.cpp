//===- LaunchKernels.cpp - Replace fmha ops with gpu.launch_func ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelAgreement.h"
#include "KernelOperands.h"
#include "LaunchValues.h"
#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/Transforms/LaunchChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace fmha {
#define GEN_PASS_DEF_LAUNCHKERNELS
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;
using runtime::TensorName;

namespace {

struct LaunchKernelsPass
    : public fmha::impl::LaunchKernelsBase<LaunchKernelsPass> {
  using LaunchKernelsBase::LaunchKernelsBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<AttentionOp, AppendOp, MergeOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(launch(op)))
        return signalPassFailure();
  }

private:
  LogicalResult launch(Operation *op);
};

//===----------------------------------------------------------------------===//
// The kernel of an op
//===----------------------------------------------------------------------===//

/// Returns the binary that `fmha.kernel` of `op` names, or emits an error and
/// returns null.
gpu::BinaryOp findBinary(Operation *op, SymbolRefAttr kernel) {
  Operation *named =
      kernel
          ? SymbolTable::lookupNearestSymbolFrom(op, kernel.getRootReference())
          : nullptr;
  auto binary = dyn_cast_or_null<gpu::BinaryOp>(named);
  if (binary && binary->hasAttr("fmha.manifest"))
    return binary;
  InFlightDiagnostic error = op->emitError()
                             << "expected a gpu.binary with an fmha.manifest, "
                                "named by fmha.kernel, got ";
  if (!kernel)
    error << "no kernel";
  else if (!named)
    error << "no symbol " << kernel;
  else
    error << named->getName() << " @" << kernel.getRootReference().getValue();
  error << "; run fmha-to-ptx first, or fmha-to-gpu in place of this pass";
  return {};
}

//===----------------------------------------------------------------------===//
// The launch of a kernel
//===----------------------------------------------------------------------===//

/// Replaces one op by the launches of its kernels.
class Launcher {
public:
  Launcher(Operation *op, OpBuilder &b)
      : b(b), op(op), math{b, op->getLoc()}, values(math) {}

  void run(AttentionOp attention, const runtime::Manifest &manifest);
  /// Launches the kernel of an op that has one and no workspace.
  template <typename OpTy, typename ManifestT>
  void run(OpTy op, const ManifestT &manifest) {
    addTensors(operandsOf(op));
    std::array<Value, 3> grid = values.tiles(manifest);
    unlessEmpty(grid, [&] { emitLaunch(manifest, grid); });
  }

private:
  void addTensors(const NamedOperands &operands);
  /// Calls `body` to emit ops that run only if no extent of `grid` is 0.
  void unlessEmpty(const std::array<Value, 3> &grid,
                   llvm::function_ref<void()> body);
  void emitLaunch(const runtime::KernelLaunch &launch,
                  const std::array<Value, 3> &grid);
  std::array<Value, 3> ctas(const runtime::Manifest &manifest,
                            std::array<Value, 3> tiles);
  void allocate(TensorName name, ArrayRef<Value> sizes, Type element);
  void allocateParts(const runtime::Manifest &manifest);
  void allocateCounter();

  OpBuilder &b;
  Operation *op;
  IndexMath math;
  LaunchValues values;
  /// The buffers of the workspace.
  SmallVector<Value> workspace;
};

void Launcher::addTensors(const NamedOperands &operands) {
  for (const auto &[name, value] : operands)
    if (value)
      values.addTensor(name, value);
}

void Launcher::unlessEmpty(const std::array<Value, 3> &grid,
                           llvm::function_ref<void()> body) {
  Value product = math.mul(math.mul(grid[0], grid[1]), grid[2]);
  if (std::optional<int64_t> known = knownNumber(product)) {
    if (*known)
      body();
    return;
  }
  Value isLaunched = arith::CmpIOp::create(
      b, op->getLoc(), arith::CmpIPredicate::ne, product, math.constant(0));
  auto guard = scf::IfOp::create(b, op->getLoc(), isLaunched,
                                 /*withElseRegion=*/false);
  OpBuilder::InsertionGuard place(b);
  b.setInsertionPointToStart(guard.thenBlock());
  body();
}

void Launcher::emitLaunch(const runtime::KernelLaunch &launch,
                          const std::array<Value, 3> &grid) {
  auto dim3 = [&](const std::array<uint32_t, 3> &sizes) {
    return gpu::KernelDim3{math.constant(sizes[0]), math.constant(sizes[1]),
                           math.constant(sizes[2])};
  };
  auto kernel = op->getAttrOfType<SymbolRefAttr>("fmha.kernel");
  auto symbol = SymbolRefAttr::get(
      kernel.getRootReference(),
      {FlatSymbolRefAttr::get(op->getContext(), launch.kernel)});
  SmallVector<Value> arguments = values.arguments(launch);
  Value smem = arith::ConstantIntOp::create(b, op->getLoc(), launch.smemBytes,
                                            /*width=*/32);
  std::optional<gpu::KernelDim3> cluster;
  if (launch.cluster != std::array<uint32_t, 3>{1, 1, 1})
    cluster = dim3(launch.cluster);
  gpu::LaunchFuncOp::create(b, op->getLoc(), symbol,
                            gpu::KernelDim3{grid[0], grid[1], grid[2]},
                            dim3(launch.block), smem, arguments,
                            /*asyncObject=*/Value(), cluster);
}

/// Returns the grid to launch. If the kernel works with any number of CTAs, the
/// grid has at most as many as fit on the device at once, in whole clusters
/// (launch::boundCtas()).
std::array<Value, 3> Launcher::ctas(const runtime::Manifest &manifest,
                                    std::array<Value, 3> tiles) {
  if (!manifest.maxCtas)
    return tiles;
  Value sms = MultiprocessorCountOp::create(b, op->getLoc(), b.getIndexType());
  Value most = math.mul(sms, math.constant(manifest.ctasPerSm));
  if (uint32_t ctas = manifest.cluster[0]; ctas > 1) {
    Value cluster = math.constant(ctas);
    most = math.max(math.mul(math.div(most, cluster), cluster), cluster);
  }
  tiles[0] = math.min(tiles[0], most);
  return tiles;
}

/// Allocates one buffer of the workspace.
void Launcher::allocate(TensorName name, ArrayRef<Value> sizes, Type element) {
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  for (Value size : sizes) {
    std::optional<int64_t> known = knownNumber(size);
    shape.push_back(known.value_or(ShapedType::kDynamic));
    if (!known)
      dynamic.push_back(size);
  }
  auto alloc =
      gpu::AllocOp::create(b, op->getLoc(), MemRefType::get(shape, element),
                           Type(), ValueRange(), dynamic, ValueRange());
  workspace.push_back(alloc.getMemref());
  values.addTensor(name, workspace.back());
}

/// Allocates o_parts, max_parts and sum_parts.
void Launcher::allocateParts(const runtime::Manifest &manifest) {
  const TensorView &output = values.view(TensorName::O);
  Value splits = math.constant(manifest.splits), batch = output.sizes[0];
  Value length = output.sizes[1], heads = output.sizes[2];
  Value dim = output.sizes[3];
  Type f32 = b.getF32Type();
  allocate(TensorName::OParts, {splits, batch, length, heads, dim}, f32);
  allocate(TensorName::MaxParts, {splits, batch, heads, length}, f32);
  allocate(TensorName::SumParts, {splits, batch, heads, length}, f32);
}

/// Allocates the counter from which CTAs draw tiles, and sets it to 0.
void Launcher::allocateCounter() {
  allocate(TensorName::TileCounter, {math.constant(1)}, b.getI32Type());
  Value zero = arith::ConstantIntOp::create(b, op->getLoc(), 0, /*width=*/32);
  gpu::MemsetOp::create(b, op->getLoc(), Type(), ValueRange(), workspace.back(),
                        zero);
}

void Launcher::run(AttentionOp attention, const runtime::Manifest &manifest) {
  addTensors(operandsOf(attention));
  for (Value source : attention.getCaptures())
    values.addCapture(source);
  std::array<Value, 3> tiles = values.tiles(manifest);
  unlessEmpty(tiles, [&] {
    if (manifest.combine)
      allocateParts(manifest);
    if (manifest.tileCounter)
      allocateCounter();
    emitLaunch(manifest, ctas(manifest, tiles));
    if (manifest.combine)
      emitLaunch(*manifest.combine, values.tiles(*manifest.combine));
    for (Value buffer : workspace)
      gpu::DeallocOp::create(b, op->getLoc(), Type(), ValueRange(), buffer);
  });
}

template <typename OpTy, typename ManifestT>
LogicalResult launchFrom(OpTy op, llvm::Expected<ManifestT> manifest,
                         bool checks) {
  if (!manifest)
    return op.emitError() << "expected the manifest of its kernel to be one "
                             "that fmha-serialize-kernels wrote, got: "
                          << llvm::toString(manifest.takeError());
  if (failed(checkAgreement(op, *manifest)))
    return failure();
  OpBuilder b(op);
  if (checks)
    generateLaunchChecks(b, op, ListContents::OnDevice);
  Launcher(op, b).run(op, *manifest);
  op.erase();
  return success();
}

LogicalResult LaunchKernelsPass::launch(Operation *op) {
  if (failed(expectMemrefs(op, "fmha-launch-kernels")))
    return failure();
  gpu::BinaryOp binary =
      findBinary(op, op->getAttrOfType<SymbolRefAttr>("fmha.kernel"));
  if (!binary)
    return failure();
  StringRef text =
      binary->getAttrOfType<StringAttr>("fmha.manifest").getValue();
  bool isChecked = checks == Switch::On;
  if (auto attention = dyn_cast<AttentionOp>(op))
    return launchFrom(attention, runtime::parseManifest(text), isChecked);
  if (auto append = dyn_cast<AppendOp>(op))
    return launchFrom(append, runtime::parseAppendManifest(text), isChecked);
  return launchFrom(cast<MergeOp>(op), runtime::parseMergeManifest(text),
                    isChecked);
}

} // namespace
