//===- Compiler.cpp - From an attention op to PTX ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Compiler.h"
#include "CompilerDialects.h"
#include "VerifyRegisters.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Pipeline/Pipelines.h"
#include "fmha/Pipeline/Query.h"
#include "fmha/Pipeline/Register.h"
#include "fmha/Target/Target.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/DebugStringHelper.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace fmha;

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

/// The names by level, then other spellings.
static constexpr std::pair<Level, llvm::StringLiteral> levelNames[] = {
    {Level::Attention, "attention"},    {Level::Tiled, "tiled"},
    {Level::Placed, "placed"},          {Level::Specialized, "specialised"},
    {Level::Machine, "machine"},        {Level::NVVM, "nvvm"},
    {Level::Specialized, "specialized"}};

std::optional<Level> fmha::parseLevel(std::string_view name) {
  for (auto [level, text] : levelNames)
    if (std::string_view(text) == name)
      return level;
  return std::nullopt;
}

std::string_view fmha::stringify(Level level) {
  return levelNames[unsigned(level)].second;
}

const DialectRegistry &fmha::compilerDialects() {
  static const DialectRegistry *made = [] {
    auto *fresh = new DialectRegistry;
    registerAllDialects(*fresh);
    registerAllExtensions(*fresh);
    registerAllFmha(*fresh);
    return fresh;
  }();
  return *made;
}

//===----------------------------------------------------------------------===//
// One compilation
//===----------------------------------------------------------------------===//

namespace {

std::string locationText(Location location) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto file = dyn_cast<FileLineColLoc>(location))
    stream << file.getFilename().getValue() << ":" << file.getLine() << ":"
           << file.getColumn();
  else
    stream << location;
  return text;
}

fmha::Diagnostic toDiagnostic(const mlir::Diagnostic &from) {
  using Severity = fmha::Diagnostic::Severity;
  fmha::Diagnostic result;
  switch (from.getSeverity()) {
  case DiagnosticSeverity::Error:
    result.severity = Severity::Error;
    break;
  case DiagnosticSeverity::Warning:
    result.severity = Severity::Warning;
    break;
  case DiagnosticSeverity::Remark:
    result.severity = Severity::Remark;
    break;
  case DiagnosticSeverity::Note:
    result.severity = Severity::Note;
    break;
  }
  result.location = locationText(from.getLocation());
  result.message = from.str();
  return result;
}

/// Adds `target` to `text` if it has none. A duplicate field is a parse error,
/// so whether the result parses shows whether it had one.
ScheduleAttr inheritTarget(ScheduleAttr schedule, StringRef text,
                           StringRef target) {
  auto [head, fields] = text.split('<');
  std::string own =
      llvm::formatv("{0}<target = \"{1}\"{2}{3}", head, target,
                    fields.ltrim().starts_with(">") ? "" : ", ", fields);
  MLIRContext *context = schedule.getContext();
  ScopedDiagnosticHandler silent(context, [](mlir::Diagnostic &) {});
  auto inherited = dyn_cast_or_null<ScheduleAttr>(parseAttribute(own, context));
  return inherited ? inherited : schedule;
}

class Compilation {
public:
  Compilation(const CompileOptions &options)
      : options(options),
        context(compilerDialects(), MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &diagnostic) {
          result.diagnostics.push_back(toDiagnostic(diagnostic));
          for (mlir::Diagnostic &note : diagnostic.getNotes())
            result.diagnostics.push_back(toDiagnostic(note));
          return success();
        }) {
    // Messages have locations; printing a whole module would hide them.
    context.printOpOnDiagnostic(false);
  }

  CompileResult run(const std::string &text, const std::string &name);
  CompileResult inspect(const std::string &text, const std::string &name);

private:
  LogicalResult parse(const std::string &text, const std::string &name);
  LogicalResult findOp();
  LogicalResult findPlainOp();
  LogicalResult checkTarget();
  LogicalResult checkSchedule();
  LogicalResult runPhase(function_ref<void(OpPassManager &)> add);
  LogicalResult lowerLevels();
  void recordLevel(Level level);
  void recordLLVM();
  void recordPlan();
  LogicalResult recordBinary();
  CompileResult runPlainOp();
  bool findProgram();
  CompileResult runProgram();
  void record(gpu::BinaryOp binary);
  std::string print();

  const CompileOptions &options;
  CompileResult result;
  MLIRContext context;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
  /// One of these is set: attention; an op whose kernel has no tiles,
  /// fmha.append or fmha.merge; programs, functions with tile.kernel.
  AttentionOp op;
  Operation *plain = nullptr;
  SmallVector<Operation *> programs;
};

LogicalResult Compilation::parse(const std::string &text,
                                 const std::string &name) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, name), {});
  module = parseSourceFile<ModuleOp>(sources, &context);
  return success(bool(module));
}

KernelSpec specOf(AttentionOp op) {
  // Any operand may have the static extent.
  auto fixed = [&](AttentionOp::Dimension dimension,
                   std::initializer_list<Value> operands) {
    std::optional<uint64_t> extent;
    for (Value operand : operands)
      if (auto type = cast<ShapedType>(operand.getType());
          !type.isDynamicDim(dimension))
        extent = type.getDimSize(dimension);
    return extent;
  };
  Value q = op.getQuery(), k = op.getKey(), v = op.getValue();
  Value o = op.getOutput();
  KernelSpec spec;
  spec.problem = op.getProblem();
  spec.scale = op.getScaleOrDefault();
  if (op.getBlockTables() && !op.getCuSeqlensQ())
    spec.batch = fixed(AttentionOp::Batch, {q, o});
  else if (!op.getCuSeqlensQ() && !op.getCuSeqlensK())
    spec.batch = fixed(AttentionOp::Batch, {q, k, v, o});
  else if (int64_t count = op.getSequenceCount(); !ShapedType::isDynamic(count))
    spec.batch = count;
  spec.qLen = fixed(AttentionOp::Length, {q, o});
  spec.kvLen = fixed(AttentionOp::Length, {k, v});
  if (int64_t keys = op.getMaxKeys(); op.getBlockTables())
    spec.kvLen = ShapedType::isDynamic(keys) ? std::nullopt
                                             : std::optional<uint64_t>(keys);
  spec.qHeads = fixed(AttentionOp::Heads, {q, o});
  spec.kvHeads = fixed(AttentionOp::Heads, {k, v});
  if (op.getKey2())
    spec.kvLen2 = fixed(AttentionOp::Length, {op.getKey2(), op.getValue2()});
  if (op.getKeyNew())
    spec.newLen =
        fixed(AttentionOp::Length, {op.getKeyNew(), op.getValueNew()});
  return spec;
}

/// Returns the location of the first op, since a module without braces has
/// none.
static Location placeOf(ModuleOp module) {
  Block *body = module.getBody();
  return body->empty() ? module.getLoc() : body->front().getLoc();
}

LogicalResult Compilation::findOp() {
  SmallVector<AttentionOp> ops;
  module->walk([&](AttentionOp found) { ops.push_back(found); });
  unsigned functions = 0;
  module->walk([&](func::FuncOp func) { functions += func.isPublic(); });
  if (ops.size() != 1 || functions != 1)
    return emitError(placeOf(*module))
           << "expected exactly one public function with exactly one "
              "fmha.attention, got "
           << functions << " and " << ops.size()
           << "; fmha-opt with fmha-program-to-llvm compiles whole programs, "
              "with conv-to-ptx a convolution, with tcgen05-to-ptx functions "
              "of tcgen05 ops";
  WalkResult walked = module->walk([](Operation *other) {
    if (!isa<AppendOp, MergeOp>(other))
      return WalkResult::advance();
    other->emitError() << "expected a module with one op to compile, got one "
                          "with fmha.attention, too; fmha-opt with "
                          "fmha-program-to-llvm compiles whole programs";
    return WalkResult::interrupt();
  });
  if (walked.wasInterrupted())
    return failure();
  op = ops.front();
  result.spec = specOf(op);
  result.isAttention = true;
  return success();
}

/// Finds the only fmha.append or fmha.merge of a module without attention;
/// fails if there is none, or more than one.
LogicalResult Compilation::findPlainOp() {
  unsigned plainOps = 0, others = 0;
  module->walk([&](Operation *found) {
    others += isa<AttentionOp>(found);
    if (auto function = dyn_cast<func::FuncOp>(found))
      others += function.isPublic() ? 1 : 0;
    if (isa<AppendOp, MergeOp>(found)) {
      plain = found;
      ++plainOps;
    }
  });
  return success(plainOps == 1 && others == 1);
}

/// Checks that the schedule is for the target, at any level of the module.
LogicalResult Compilation::checkSchedule() {
  if (!op)
    return success();
  ScheduleAttr schedule = op.getScheduleAttr();
  if (!schedule || schedule.getValue().target == options.target)
    return success();
  const std::string &own = schedule.getValue().target;
  return op->emitError() << "attention has a schedule for " << own
                         << ", but is compiled for " << options.target
                         << "; expected one target: pass --target=" << own
                         << ", or change the schedule";
}

LogicalResult Compilation::checkTarget() {
  std::string reason = whyUnsupported(options.target);
  if (reason.empty())
    return checkSchedule();
  return module->emitError() << reason;
}

/// Runs the passes to the next level. The result is verified once, and not
/// after every pass as in fmha-opt, which would take a tenth of the time.
LogicalResult Compilation::runPhase(function_ref<void(OpPassManager &)> add) {
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.enableVerifier(false);
  add(pm);
  return failed(pm.run(*module)) ? failure() : verify(*module);
}

std::string Compilation::print() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text + "\n";
}

void Compilation::recordLevel(Level level) {
  bool last = options.to == level;
  if (!options.keepLevels && !last)
    return;
  std::string text = print();
  if (last)
    result.ir = text;
  if (options.keepLevels)
    result.levels.emplace_back(level, std::move(text));
}

LogicalResult Compilation::lowerLevels() {
  recordLevel(options.from);
  PipelineOptions pipeline{
      options.target,
      options.overrides,
      options.verifyKernels,
      options.hints,
      [this](const schedule::Plan &plan) { result.plan = plan; },
      options.pipeline};
  Level end = options.to.value_or(Level::NVVM);
  for (unsigned n = unsigned(options.from) + 1; n <= unsigned(end); ++n) {
    Level level = Level(n);
    if (failed(runPhase(
            [&](OpPassManager &pm) { addPhase(pm, level, pipeline); })))
      return failure();
    recordLevel(level);
  }
  return success();
}

void Compilation::recordLLVM() {
  llvm::LLVMContext llvmContext;
  for (auto kernels : module->getOps<gpu::GPUModuleOp>()) {
    auto translated = translateModuleToLLVMIR(kernels, llvmContext);
    if (!translated)
      continue;
    llvm::raw_string_ostream stream(result.llvm);
    translated->print(stream, nullptr);
  }
}

/// Records a plan for a schedule that came with the input: the planner's, with
/// its reasons, if it makes the same choice.
void Compilation::recordPlan() {
  if (!op.getScheduleAttr() || result.plan)
    return;
  const schedule::Schedule chosen =
      schedule::withRoles(op.getScheduleAttr().getValue());
  const schedule::Problem &problem = result.spec.problem;
  std::string error;
  result.plan =
      schedule::plan(problem, options.target, options.overrides, error);
  if (result.plan && result.plan->schedule == chosen)
    return;
  result.plan = schedule::Plan{
      chosen, schedule::layOut(problem, chosen), "written by hand", {}, {}};
}

/// Returns what adds the passes to binaries.
static auto ptxPhase(PipelineSource pipeline) {
  return [pipeline](OpPassManager &pm) { addPtxPhase(pm, pipeline); };
}

LogicalResult Compilation::recordBinary() {
  if (failed(runPhase(ptxPhase(options.pipeline))))
    return failure();
  auto kernel = op->getAttrOfType<SymbolRefAttr>("fmha.kernel");
  auto binary = kernel ? SymbolTable::lookupNearestSymbolFrom<gpu::BinaryOp>(
                             op, kernel.getRootReference())
                       : gpu::BinaryOp();
  if (!binary)
    return op->emitError() << "expected the input to have the kernel that the "
                              "op names, got none";
  record(binary);
  return success();
}

void Compilation::record(gpu::BinaryOp binary) {
  auto object = cast<gpu::ObjectAttr>(binary.getObjects()[0]);
  result.ptx = object.getObject().getValue().rtrim('\0').str();
  if (auto manifest = binary->getAttrOfType<StringAttr>("fmha.manifest"))
    result.manifest = manifest.getValue().str();
}

/// Compiles an append or a merge in one step, since its kernel has no tiles.
CompileResult Compilation::runPlainOp() {
  if (failed(checkTarget()))
    return std::move(result);
  if (options.overrides != schedule::Overrides()) {
    plain->emitError() << "expected no field of a schedule, got one; "
                       << (isa<MergeOp>(plain) ? "a merge" : "an append")
                       << " has none: leave it out";
    return std::move(result);
  }
  if (auto own = plain->getAttrOfType<StringAttr>("target");
      own && own.getValue() != options.target) {
    plain->emitError() << "expected the target of the op, " << own.getValue()
                       << ", got " << options.target
                       << "; give that, or change the op";
    return std::move(result);
  }
  if (options.to || options.keepLLVM) {
    plain->emitError() << "expected PTX, a cubin or a manifest to emit, got "
                       << (options.to ? stringify(*options.to) : "llvm")
                       << "; this op's kernel has no tiles, and its levels are "
                          "those of the pipeline fmha-to-ptx";
    return std::move(result);
  }
  PipelineOptions pipeline;
  pipeline.target = options.target;
  if (failed(runPhase(
          [&](OpPassManager &pm) { buildToPtxPipeline(pm, pipeline); })))
    return std::move(result);
  for (gpu::BinaryOp binary : module->getOps<gpu::BinaryOp>())
    record(binary);
  result.ok = true;
  return std::move(result);
}

/// Returns whether the module has kernels with tile.kernel and no op to lower.
bool Compilation::findProgram() {
  bool hasOps = false;
  module->walk([&](Operation *found) {
    hasOps |= isa<AttentionOp, AppendOp, MergeOp>(found);
    if (found->hasAttr("tile.kernel"))
      programs.push_back(found);
  });
  return !hasOps && !programs.empty();
}

CompileResult Compilation::runProgram() {
  if (programs.size() != 1) {
    programs[1]->emitError()
        << "expected one kernel with tile.kernel, got " << programs.size()
        << "; fmha-opt with tile-to-ptx compiles several";
    return std::move(result);
  }
  Operation *program = programs.front();
  std::string own = tile::scheduleOf(program).target;
  if (options.target != own) {
    program->emitError() << "expected the target of the kernel, " << own
                         << ", got " << options.target
                         << "; pass --target=" << own;
    return std::move(result);
  }
  if (options.overrides != schedule::Overrides()) {
    program->emitError() << "expected no field of a schedule, got one; a "
                            "kernel of tile ops has none: leave it out";
    return std::move(result);
  }
  if (failed(lowerLevels()))
    return std::move(result);
  if (!options.to) {
    if (options.keepLLVM)
      recordLLVM();
    if (failed(runPhase(ptxPhase(options.pipeline))))
      return std::move(result);
    for (gpu::BinaryOp binary : module->getOps<gpu::BinaryOp>())
      record(binary);
  }
  result.ok = true;
  return std::move(result);
}

CompileResult Compilation::run(const std::string &text,
                               const std::string &name) {
  if (failed(parse(text, name)))
    return std::move(result);
  if (succeeded(findPlainOp()))
    return runPlainOp();
  if (findProgram())
    return runProgram();
  if (failed(findOp()) || failed(checkTarget()))
    return std::move(result);
  result.spec.problem = schedule::withHints(result.spec.problem, options.hints);
  if (failed(lowerLevels()))
    return std::move(result);
  recordPlan();
  if (options.keepLLVM && !options.to)
    recordLLVM();
  if (!options.to && failed(recordBinary()))
    return std::move(result);
  result.ok = true;
  return std::move(result);
}

CompileResult Compilation::inspect(const std::string &text,
                                   const std::string &name) {
  result.ok =
      succeeded(parse(text, name)) &&
      (findProgram() || succeeded(findPlainOp()) || succeeded(findOp()));
  return std::move(result);
}

} // namespace

ScheduleText fmha::readSchedule(const std::string &text,
                                const std::string &name,
                                const std::string &target) {
  ScheduleText result;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<FMHADialect>();
  auto report = [&](fmha::Diagnostic diagnostic) {
    // The buffer has no name; the line and column that follow are valid.
    StringRef place = diagnostic.location;
    size_t line = place.rfind(':', place.rfind(':'));
    diagnostic.location =
        name + (line == StringRef::npos ? "" : place.substr(line).str());
    result.diagnostics.push_back(std::move(diagnostic));
  };
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    report(toDiagnostic(diagnostic));
  });
  if (!StringRef(text).starts_with("#")) {
    report({fmha::Diagnostic::Severity::Error, "",
            "expected #fmha.schedule<...>, such as #fmha.schedule<q_tiles = "
            "1>, got '" +
                text + "'"});
    return result;
  }
  Attribute attribute = parseAttribute(text, &context);
  if (!attribute)
    return result;
  auto schedule = dyn_cast<ScheduleAttr>(attribute);
  if (!schedule) {
    report({fmha::Diagnostic::Severity::Error, "",
            "expected #fmha.schedule<...>, got " + debugString(attribute)});
    return result;
  }
  result.text = debugString(inheritTarget(schedule, text, target));
  result.ok = true;
  return result;
}

CompileResult fmha::compile(const std::string &moduleText,
                            const std::string &name,
                            const CompileOptions &options) {
  return compileVerified(options, [&](const CompileOptions &own) {
    return Compilation(own).run(moduleText, name);
  });
}

CompileResult fmha::compileMerge(const MergeSpec &spec,
                                 const std::string &target) {
  CompileOptions options;
  options.target = target;
  return Compilation(options).run(mergeModule(spec), "<merge>");
}

CompileResult fmha::inspect(const std::string &moduleText,
                            const std::string &name) {
  CompileOptions options;
  return Compilation(options).inspect(moduleText, name);
}
