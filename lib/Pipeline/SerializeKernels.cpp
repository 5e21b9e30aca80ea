//===- SerializeKernels.cpp - Turn kernels into PTX with a manifest -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSerializer.h"
#include "ProgramManifest.h"
#include "fmha/Conversion/AppendProblem.h"
#include "fmha/Conversion/MergeProblem.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/Programmatic.h"
#include "fmha/Pipeline/Manifest.h"
#include "fmha/Pipeline/Passes.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace fmha {
#define GEN_PASS_DEF_SERIALIZEKERNELS
#include "fmha/Pipeline/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

struct SerializeKernelsPass
    : public fmha::impl::SerializeKernelsBase<SerializeKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    // All ops that share a kernel are compared with it before it becomes a
    // binary.
    if (failed(forEachOp([&](auto op) { return check(op); })) ||
        failed(forEachOp([&](auto op) { return serialize(op); })) ||
        failed(serializePrograms()))
      signalPassFailure();
    checkedModules.clear();
  }

private:
  /// Calls `step` with each op that has a kernel, until it fails.
  template <typename Step> LogicalResult forEachOp(Step step);
  template <typename OpTy> LogicalResult check(OpTy op);
  template <typename OpTy> LogicalResult serialize(OpTy op);
  LogicalResult serializePrograms();

  DenseSet<Operation *> checkedModules;
};

/// Checks that the module is at the level of the NVPTX back end, LLVM and NVVM;
/// any other op means that a pass has not run.
LogicalResult checkLevel(gpu::GPUModuleOp module) {
  // Functions before the ops in them: their own pass has to run first.
  WalkResult result = module.walk<WalkOrder::PreOrder>([](Operation *op) {
    if (isa_and_nonnull<LLVM::LLVMDialect, NVVM::NVVMDialect>(
            op->getDialect()) ||
        isa<gpu::GPUModuleOp>(op))
      return WalkResult::advance();
    bool isKernel = isa<gpu::GPUFuncOp>(op);
    op->emitError() << "fmha-serialize-kernels expects a kernel at the NVVM "
                       "level, of llvm and nvvm ops, got "
                    << op->getName() << "; run "
                    << (isKernel ? "convert-tile-to-nvvm and " : "")
                    << "convert-kernel-to-llvm first";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Returns the target. serializeToPtx() explains the optimization levels.
NVVM::NVVMTargetAttr targetAttr(MLIRContext *ctx, StringRef name) {
  Builder b(ctx);
  NamedAttribute ftz(b.getStringAttr("ftz"), b.getUnitAttr());
  const target::Target *target = target::findTarget(name);
  return NVVM::NVVMTargetAttr::get(
      ctx, target->backEndLevel, "nvptx64-nvidia-cuda", name, target->features,
      b.getDictionaryAttr({ftz}));
}

std::string textOf(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

/// Returns `heading` and the text, with the one NUL at the end that MLIR's
/// generated loader expects.
SmallVector<char, 0> withHeading(const SmallVector<char, 0> &text,
                                 const std::string &heading) {
  StringRef body = StringRef(text.data(), text.size()).rtrim('\0');
  SmallVector<char, 0> all(heading.begin(), heading.end());
  all.append(body.begin(), body.end());
  all.push_back('\0');
  return all;
}

/// Checks that op and kernel agree: the code comes from the kernel, launch
/// manifest and heading from the op.
LogicalResult checkAgreement(AttentionOp op, SymbolRefAttr kernel,
                             gpu::GPUModuleOp module) {
  auto func = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel.getLeafReference());
  if (!func)
    return op.emitError() << "expected an llvm.func @"
                          << kernel.getLeafReference().getValue() << " in @"
                          << module.getName()
                          << ", which fmha.kernel names, got none; drop "
                             "fmha.kernel and run convert-fmha-to-tile";
  const std::pair<StringRef, Attribute> agreed[] = {
      {"fmha.schedule", op.getScheduleAttr()},
      {"fmha.problem", op.getProblemAttr()}};
  for (auto [name, expected] : agreed)
    if (Attribute got = func->getAttr(name); got != expected) {
      InFlightDiagnostic error = op.emitError()
                                 << "expected a kernel made for this op, with "
                                 << name << " = " << expected << ", got ";
      return (got ? error << got : error << "none")
             << "; lower the op again from the start";
    }
  return success();
}

/// Checks that the binary has the form that this pass produces.
LogicalResult checkBinary(Operation *op, gpu::BinaryOp binary) {
  auto manifest = binary->getAttrOfType<StringAttr>("fmha.manifest");
  ArrayRef<Attribute> objects = binary.getObjects().getValue();
  auto object = objects.size() == 1 ? dyn_cast<gpu::ObjectAttr>(objects[0])
                                    : gpu::ObjectAttr();
  if (manifest && !manifest.empty() && object &&
      object.getFormat() == gpu::CompilationTarget::Assembly)
    return success();
  return op->emitError()
         << "expected the gpu.binary @" << binary.getName()
         << " with one object in assembly format and an fmha.manifest, as "
            "fmha-serialize-kernels makes it, got another one";
}

/// Checks the target of an op whose kernel has no schedule, and the attribute
/// `attribute` of the kernel, which is the problem of the op.
template <typename OpTy>
LogicalResult checkAgreement(OpTy op, SymbolRefAttr kernel,
                             gpu::GPUModuleOp module, StringRef attribute,
                             DictionaryAttr problem) {
  StringRef name = *op.getTarget();
  const target::Target *target = target::findTarget(name);
  if (!target || !target->supported)
    return op.emitError() << "expected a target that kernels can be compiled "
                             "for, one of "
                          << target::supportedNames() << ", got " << name;
  auto func = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel.getLeafReference());
  if (!func || func->getAttr(attribute) != problem)
    return op.emitError() << "expected a kernel made for this op, " << kernel
                          << "; drop fmha.kernel and run convert-fmha-to-tile";
  return success();
}

LogicalResult checkAgreement(MergeOp op, SymbolRefAttr kernel,
                             gpu::GPUModuleOp module) {
  return checkAgreement(op, kernel, module, "fmha.merge",
                        describeMerge(mergeOf(op), op.getContext()));
}

LogicalResult checkAgreement(AppendOp op, SymbolRefAttr kernel,
                             gpu::GPUModuleOp module) {
  return checkAgreement(op, kernel, module, "fmha.append",
                        describeAppend(appendOf(op), op.getContext()));
}

SymbolRefAttr kernelOf(Operation *op) {
  return op->getAttrOfType<SymbolRefAttr>("fmha.kernel");
}

bool isPlanned(AttentionOp op) { return bool(op.getScheduleAttr()); }
bool isPlanned(MergeOp op) { return bool(op.getTarget()); }
bool isPlanned(AppendOp op) { return bool(op.getTarget()); }

/// Ops are collected first, because a step may erase modules.
template <typename Step>
LogicalResult SerializeKernelsPass::forEachOp(Step step) {
  SmallVector<AttentionOp> ops;
  SmallVector<MergeOp> merges;
  SmallVector<AppendOp> appends;
  getOperation().walk([&](AttentionOp op) { ops.push_back(op); });
  getOperation().walk([&](MergeOp op) { merges.push_back(op); });
  getOperation().walk([&](AppendOp op) { appends.push_back(op); });
  auto succeeds = [&](auto op) { return succeeded(step(op)); };
  return success(llvm::all_of(ops, succeeds) &&
                 llvm::all_of(merges, succeeds) &&
                 llvm::all_of(appends, succeeds));
}

/// Checks that the op names a binary of this compiler, or a kernel that can
/// become one.
template <typename OpTy> LogicalResult SerializeKernelsPass::check(OpTy op) {
  SymbolRefAttr kernel = kernelOf(op);
  if (!kernel || !isPlanned(op))
    return op.emitError()
           << "has no kernel to serialize; run "
              "fmha-plan-schedule and convert-fmha-to-tile first";
  Operation *named =
      SymbolTable::lookupNearestSymbolFrom(op, kernel.getRootReference());
  if (auto binary = dyn_cast_or_null<gpu::BinaryOp>(named))
    return checkBinary(op, binary);
  auto module = dyn_cast_or_null<gpu::GPUModuleOp>(named);
  if (!module)
    return op.emitError() << "expected a gpu.module or gpu.binary @"
                          << kernel.getRootReference().getValue()
                          << ", which fmha.kernel names, got "
                          << (named ? named->getName().getStringRef()
                                    : StringRef("none"))
                          << "; drop fmha.kernel and run convert-fmha-to-tile";
  if (checkedModules.insert(module).second && failed(checkLevel(module)))
    return failure();
  return checkAgreement(op, kernel, module);
}

/// Erases what a target without griddepcontrol lacks: the waits for earlier
/// grids, and the marks of kernels that may start before those have ended.
void dropGridDependencies(gpu::GPUModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    auto global = dyn_cast<LLVM::GlobalOp>(op);
    if (isa<NVVM::GriddepcontrolOp>(op) ||
        (global && global.getSymName().starts_with(programmaticPrefix)))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    op->erase();
}

/// gpu.module @m { ... } -> gpu.binary @m with the text and the manifest, which
/// `manifestOf` returns for the id of the kernel.
LogicalResult
makeBinary(Operation *op, gpu::GPUModuleOp module, StringRef target,
           const std::string &heading,
           function_ref<std::string(const std::string &id)> manifestOf) {
  NVVM::NVVMTargetAttr attr = targetAttr(op->getContext(), target);
  auto interface = cast<gpu::TargetAttrInterface>(attr);
  gpu::TargetOptions options({}, {}, {}, {}, gpu::CompilationTarget::Assembly);
  if (!target::findTarget(target)->hasGridDependencies)
    dropGridDependencies(module);
  auto text = serializeToPtx(module, attr);
  if (!text)
    return op->emitError() << "could not be serialized for " << target;
  std::string id = kernelId(StringRef(text->data(), text->size()));
  Attribute object = interface.createObject(
      module, withHeading(*text, heading + idHeading(id)), options);
  OpBuilder b(module);
  auto binary = gpu::BinaryOp::create(b, module.getLoc(), module.getName(),
                                      Attribute(), b.getArrayAttr({object}));
  binary->setAttr("fmha.manifest", b.getStringAttr(manifestOf(id)));
  module.erase();
  return success();
}

LogicalResult makeBinary(AttentionOp op, gpu::GPUModuleOp module,
                         PipelineSource pipeline) {
  const schedule::Schedule &schedule = op.getScheduleAttr().getValue();
  KernelSpec spec;
  spec.problem = op.getProblem();
  spec.scale = op.getScaleOrDefault();
  std::string kernel = kernelOf(op).getLeafReference().str();
  const schedule::CheckedMap &checked =
      op->getContext()->getLoadedDialect<FMHADialect>()->getMap(
          spec.problem, op.getScheduleAttr());
  if (checked.error)
    return op.emitError() << *checked.error;
  return makeBinary(
      op, module, schedule.target,
      ptxHeading(spec, schedule, textOf(op.getScheduleAttr()), pipeline),
      [&](const std::string &id) {
        return launchManifest(spec, schedule, checked.map, kernel, id);
      });
}

LogicalResult makeBinary(MergeOp op, gpu::GPUModuleOp module, PipelineSource) {
  std::string target = op.getTarget()->str();
  MergeProblem problem = mergeOf(op);
  std::string kernel = kernelOf(op).getLeafReference().str();
  return makeBinary(op, module, target, mergeHeading(problem, target),
                    [&](const std::string &id) {
                      return mergeManifest(problem, target, kernel, id);
                    });
}

LogicalResult makeBinary(AppendOp op, gpu::GPUModuleOp module, PipelineSource) {
  std::string target = op.getTarget()->str();
  AppendProblem problem = appendOf(op);
  std::string kernel = kernelOf(op).getLeafReference().str();
  return makeBinary(op, module, target, appendHeading(problem, target),
                    [&](const std::string &id) {
                      return appendManifest(problem, target, kernel, id);
                    });
}

/// Leaves a kernel unchanged if it is a binary already, possibly of another op
/// that shares it.
template <typename OpTy>
LogicalResult SerializeKernelsPass::serialize(OpTy op) {
  auto module = SymbolTable::lookupNearestSymbolFrom<gpu::GPUModuleOp>(
      op, kernelOf(op).getRootReference());
  return module ? makeBinary(op, module, pipeline) : success();
}

/// Returns the only function with a body in a module, if it is a program.
LLVM::LLVMFuncOp programIn(gpu::GPUModuleOp module) {
  LLVM::LLVMFuncOp program;
  for (auto func : module.getOps<LLVM::LLVMFuncOp>()) {
    if (func.isExternal())
      continue;
    if (program || !func->hasAttr("tile.kernel"))
      return {};
    program = func;
  }
  return program;
}

/// Serializes kernels that no op names; each must be alone in its module.
LogicalResult SerializeKernelsPass::serializePrograms() {
  SmallVector<gpu::GPUModuleOp> modules;
  getOperation().walk([&](gpu::GPUModuleOp module) {
    WalkResult found = module.walk([](FunctionOpInterface func) {
      return func->hasAttr("tile.kernel") ? WalkResult::interrupt()
                                          : WalkResult::advance();
    });
    if (found.wasInterrupted())
      modules.push_back(module);
  });
  for (gpu::GPUModuleOp module : modules) {
    if (failed(checkLevel(module)))
      return failure();
    LLVM::LLVMFuncOp func = programIn(module);
    if (!func)
      return module.emitError() << "expected one function, a kernel with "
                                   "tile.kernel; give each a gpu.module";
    auto kernel = func->getAttrOfType<tile::KernelAttr>("tile.kernel");
    if (failed(makeBinary(
            module, module, kernel.getTarget(), programHeading(func),
            [&](const std::string &id) { return programManifest(func, id); })))
      return failure();
  }
  return success();
}

} // namespace
