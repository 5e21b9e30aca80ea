//===- Compiler.cpp - From an attention op to PTX ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Compiler.h"
#include "MergeModule.h"
#include "ScoreText.h"
#include "VerifyRegisters.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Pipeline/Pipelines.h"
#include "fmha/Pipeline/Query.h"
#include "fmha/Pipeline/Register.h"
#include "fmha/Schedule/Model/Lists.h"
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

static constexpr std::pair<Level, llvm::StringLiteral> levelNames[] = {
    {Level::Attention, "attention"}, {Level::Tiled, "tiled"},
    {Level::Placed, "placed"},       {Level::Specialised, "specialised"},
    {Level::Machine, "machine"},     {Level::NVVM, "nvvm"}};

std::optional<Level> fmha::parseLevel(std::string_view name) {
  for (auto [level, text] : levelNames)
    if (std::string_view(text) == name)
      return level;
  return std::nullopt;
}

std::string_view fmha::stringify(Level level) {
  return levelNames[unsigned(level)].second;
}

//===----------------------------------------------------------------------===//
// Modules from flags
//===----------------------------------------------------------------------===//

/// Defines %v as the first columns of %k; with `source` "2", %v2 of %k2.
static std::string viewOfKey(const schedule::Problem &problem,
                             const std::string &key, const std::string &value,
                             const char *source) {
  std::string text;
  for (unsigned n = 0; n < 3; ++n)
    text += llvm::formatv("  %c{2}{0} = arith.constant {0} : index\n"
                          "  %n{2}{0} = memref.dim %k{2}, %c{2}{0} : {1}\n",
                          n, key, source);
  return text + llvm::formatv("  %v{3} = memref.subview %k{3}[0, 0, 0, 0] "
                              "[%n{3}0, %n{3}1, %n{3}2, {0}] [1, 1, 1, 1]\n"
                              "      : {1} to {2}\n",
                              problem.headDimV, key, value, source)
                    .str();
}

/// The operands, clause and view of a second KV segment, empty without one.
struct SecondTexts {
  std::string arguments, clause, view;
};
static SecondTexts secondTexts(const schedule::Problem &problem,
                               const std::string &key,
                               const std::string &value) {
  SecondTexts texts;
  if (!problem.source2)
    return texts;
  texts.arguments = "%k2: " + key + ", ";
  if (problem.vInK)
    texts.view = viewOfKey(problem, key, value, "2");
  else
    texts.arguments += "%v2: " + value + ", ";
  texts.clause = "      source2(%k2, %v2 : " + key + ", " + value + ")\n";
  return texts;
}

/// Returns the mask in the syntax of #fmha.mask.
static std::string maskText(const schedule::Mask &mask) {
  constexpr llvm::StringLiteral kinds[] = {"none", "causal", "causal_top_left"};
  std::string text = "#fmha.mask<" + kinds[mask.kind].str();
  if (mask.left)
    text += ", left = " + std::to_string(*mask.left);
  if (mask.right)
    text += ", right = " + std::to_string(*mask.right);
  return text + ">";
}

namespace {
struct RowTexts {
  std::string arguments, names, types, clauses;
};
} // namespace

/// Returns arguments and operands of the varlen metadata that the op reads:
///   "%kv_lens: memref<?xi32>, " and "      kv_lens(%kv_lens :
///   memref<?xi32>)\n"
static std::pair<std::string, std::string>
listTexts(const schedule::Problem &problem) {
  std::string arguments, operands;
  for (const schedule::ListField &list : schedule::listFields) {
    if (!(problem.*list.there))
      continue;
    const char *type = list.isFloat ? "f32" : "i32";
    arguments += llvm::formatv("%{0}: memref<?x{1}>, ", list.name, type);
    operands +=
        llvm::formatv("      {0}(%{0} : memref<?x{1}>)\n", list.name, type);
  }
  return {arguments, operands};
}

/// Returns arguments, destinations and clauses of the row outputs: LSE is
/// listed with the output, the others have separate clauses.
///   ", %row_max: T", "", "      row_max(%row_max : T)\n"
static RowTexts rowTexts(const schedule::Problem &problem) {
  constexpr llvm::StringLiteral type = "memref<?x?x?xf32, strided<[?, ?, ?]>>";
  RowTexts texts;
  for (const schedule::RowField &row : schedule::rowFields) {
    if (!(problem.*row.there))
      continue;
    texts.arguments += llvm::formatv(", %{0}: {1}", row.name, type);
    if (row.there == &schedule::Problem::lse) {
      texts.names = ", %lse";
      texts.types = ", " + type.str();
    } else {
      texts.clauses += llvm::formatv("\n      {0}(%{0} : {1})", row.name, type);
    }
  }
  return texts;
}

std::string fmha::buildModule(const KernelSpec &spec) {
  const schedule::Problem &problem = spec.problem;
  auto tensor = [&](unsigned headDim, const char *element) {
    return llvm::formatv("memref<?x?x?x{0}x{1}, strided<[?, ?, ?, 1]>>",
                         headDim, element)
        .str();
  };
  const char *element = schedule::stringify(problem.dtype).data();
  std::string q = tensor(problem.headDim, element);
  std::string v = tensor(problem.headDimV, element);
  std::string o = tensor(problem.headDimV, problem.outF32 ? "f32" : element);
  RowTexts rows = rowTexts(problem);
  std::string attributes;
  auto add = [&](const std::string &text) {
    attributes += (attributes.empty() ? "" : ", ") + text;
  };
  if (!(problem.mask == schedule::Mask()))
    add("mask = " + maskText(problem.mask));
  if (!problem.mask2.isFull())
    add("source2_mask = " + maskText(problem.mask2));
  if (spec.scale) {
    // The bit pattern, so that parsing returns the same double.
    uint64_t bits = llvm::bit_cast<uint64_t>(*spec.scale);
    add("scale = 0x" + llvm::utohexstr(bits, /*LowerCase=*/false, 16) +
        " : f64");
  }
  for (const schedule::Fact &fact : schedule::facts)
    if (fact.isAttribute() && problem.*fact.there)
      add(fact.name);
  if (!spec.schedule.empty())
    add("schedule = " + spec.schedule);
  auto [listArguments, lists] = listTexts(problem);
  auto [arguments2, clause2, view2] = secondTexts(problem, q, v);
  listArguments = arguments2 + listArguments;
  lists = clause2 + lists;
  for (const ScoreOperand &read : scoreOperands(spec.score))
    listArguments += "%" + read.name + ": " + read.type + ", ";
  return llvm::formatv(
             "func.func @attention(%q: {0}, %k: {0}, {6}{8}%o: {11}{2}) {{\n"
             "{7}  fmha.attention ins(%q, %k, %v : {0}, {0}, {1})\n"
             "{9}      outs(%o{3} : {11}{4}){12}{5}{10}\n"
             "  return\n}\n",
             q, v, rows.arguments, rows.names, rows.types,
             attributes.empty() ? "" : " {" + attributes + "}",
             problem.vInK ? "" : "%v: " + v + ", ",
             problem.vInK ? viewOfKey(problem, q, v, "") + view2 : "",
             listArguments, lists,
             scoreText(spec.score, problem.mask.isTopLeft(), problem.source2),
             o, rows.clauses)
      .str();
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

const DialectRegistry &registry() {
  static const DialectRegistry *made = [] {
    auto *fresh = new DialectRegistry;
    registerAllDialects(*fresh);
    registerAllExtensions(*fresh);
    registerAllFmha(*fresh);
    return fresh;
  }();
  return *made;
}

class Compilation {
public:
  Compilation(const CompileOptions &options)
      : options(options), context(registry(), MLIRContext::Threading::DISABLED),
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
  LogicalResult findMerge();
  LogicalResult checkTarget();
  LogicalResult checkSchedule();
  LogicalResult runPhase(function_ref<void(OpPassManager &)> add);
  LogicalResult lowerLevels();
  void recordLevel(Level level);
  void recordLLVM();
  void recordPlan();
  LogicalResult recordBinary();
  CompileResult runMerge();
  void record(gpu::BinaryOp binary);
  std::string print();

  const CompileOptions &options;
  CompileResult result;
  MLIRContext context;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
  /// One of the two is set.
  AttentionOp op;
  MergeOp merge;
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
  if (!op.getCuSeqlensQ() && !op.getCuSeqlensK())
    spec.batch = fixed(AttentionOp::Batch, {q, k, v, o});
  else if (int64_t count = op.getSequenceCount(); !ShapedType::isDynamic(count))
    spec.batch = count;
  spec.qLen = fixed(AttentionOp::Length, {q, o});
  spec.kvLen = fixed(AttentionOp::Length, {k, v});
  spec.qHeads = fixed(AttentionOp::Heads, {q, o});
  spec.kvHeads = fixed(AttentionOp::Heads, {k, v});
  if (op.getKey2())
    spec.kvLen2 = fixed(AttentionOp::Length, {op.getKey2(), op.getValue2()});
  return spec;
}

LogicalResult Compilation::findOp() {
  SmallVector<AttentionOp> ops;
  module->walk([&](AttentionOp found) { ops.push_back(found); });
  unsigned functions = 0;
  module->walk([&](func::FuncOp func) { functions += func.isPublic(); });
  if (ops.size() != 1 || functions != 1)
    return module->emitError()
           << "expected exactly one public function with exactly one "
              "fmha.attention, got "
           << functions << " and " << ops.size()
           << "; fmha-opt with fmha-program-to-llvm compiles whole programs";
  op = ops.front();
  result.spec = specOf(op);
  return success();
}

/// Finds the only fmha.merge of a module without attention; fails if there is
/// none, or more than one.
LogicalResult Compilation::findMerge() {
  unsigned merges = 0, others = 0;
  module->walk([&](Operation *found) {
    others += isa<AttentionOp>(found);
    if (auto function = dyn_cast<func::FuncOp>(found))
      others += function.isPublic() ? 1 : 0;
    if (auto one = dyn_cast<MergeOp>(found)) {
      merge = one;
      ++merges;
    }
  });
  return success(merges == 1 && others == 1);
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
  PipelineOptions pipeline{options.target, options.overrides,
                           options.verifyKernels, options.hints};
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

/// Plans again to record the reasons of the choice. A schedule written by hand
/// has none.
void Compilation::recordPlan() {
  if (!op.getScheduleAttr())
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

LogicalResult Compilation::recordBinary() {
  if (failed(runPhase(addPtxPhase)))
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

/// Compiles a merge in one step, since its kernel has no tiles.
CompileResult Compilation::runMerge() {
  if (failed(checkTarget()))
    return std::move(result);
  if (options.overrides != schedule::Overrides()) {
    merge->emitError("expected no field of a schedule, got one; a merge has "
                     "none: leave it out");
    return std::move(result);
  }
  if (std::optional<StringRef> own = merge.getTarget();
      own && *own != options.target) {
    merge->emitError() << "expected the target of the op, " << *own << ", got "
                       << options.target << "; give that, or change the op";
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

CompileResult Compilation::run(const std::string &text,
                               const std::string &name) {
  if (failed(parse(text, name)))
    return std::move(result);
  if (succeeded(findMerge()))
    return runMerge();
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
  result.ok = succeeded(parse(text, name)) && succeeded(findOp());
  return std::move(result);
}

} // namespace

ScheduleText fmha::readSchedule(const std::string &text,
                                const std::string &name,
                                const std::string &target) {
  ScheduleText result;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<FMHADialect>();
  auto complain = [&](fmha::Diagnostic diagnostic) {
    // The buffer has no name; the line and column that follow are valid.
    StringRef place = diagnostic.location;
    size_t line = place.rfind(':', place.rfind(':'));
    diagnostic.location =
        name + (line == StringRef::npos ? "" : place.substr(line).str());
    result.diagnostics.push_back(std::move(diagnostic));
  };
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    complain(toDiagnostic(diagnostic));
  });
  Attribute attribute = parseAttribute(text, &context);
  if (!attribute)
    return result;
  auto schedule = dyn_cast<ScheduleAttr>(attribute);
  if (!schedule) {
    complain({fmha::Diagnostic::Severity::Error, "",
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
