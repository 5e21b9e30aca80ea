//===- fmha-compile.cpp - Compile an attention op -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the command line, calls the compiler once, and writes one thing out.
//
//===----------------------------------------------------------------------===//

#include "fmha/Options/ProblemFlags.h"
#include "fmha/Runtime/Files.h"
#include "fmha/Schedule/Explain.h"
#include "fmha/Schedule/Pictures.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace fmha;
using namespace fmha::tools;
using fmha::runtime::failure;

namespace {

struct CompileFlags {
  ProblemFlags problem;
  std::string emit = "ptx", output = "-", dumpTo, drawTo;
  std::optional<Level> from, to;
  bool explain = false, help = false, version = false, verifyKernels = true;

  void add(FlagTable &table);
};

std::vector<std::string> levelNames() {
  std::vector<std::string> names;
  for (int i = 0; i <= int(Level::NVVM); ++i)
    names.emplace_back(stringify(Level(i)));
  return names;
}

void CompileFlags::add(FlagTable &table) {
  problem.add(table);
  table.group("Output");
  table.addWord("emit", {"mlir", "llvm", "ptx", "cubin", "manifest"},
                "what to print (default ptx)", emit);
  table.addText("-o", "FILE", "write it there; '-' is standard output", output);
  table.addChoice("compile-from", levelNames(), "level of the input",
                  [this](size_t i) { from = Level(i); });
  table.addChoice("compile-to", levelNames(),
                  "level to stop at (default for --emit=mlir: attention)",
                  [this](size_t i) { to = Level(i); });
  table.addText("dump-phases-to", "DIR",
                "write every level to DIR/NN-LEVEL.mlir", dumpTo);
  table.addSwitch("verify-kernels",
                  "verify capacities and synchronisation at each level "
                  "(default); =false leaves it out",
                  [this](bool on) { verifyKernels = on; });
  table.addSwitch("explain",
                  "print the schedule and why; the kernel only goes to -o",
                  [this](bool on) { explain = on; });
  table.addText("svg", "DIR",
                "with --explain: draw tensor memory over time, shared memory "
                "and the swizzle into DIR/*.svg",
                drawTo);
  table.group("Help");
  table.addSwitch("help", "print this and stop",
                  [this](bool on) { help = on; });
  table.addSwitch("version", "print the version and stop",
                  [this](bool on) { version = on; });
}

void printHelp(const FlagTable &table) {
  llvm::outs()
      << "fmha-compile [input.mlir] [flags]: compile one attention op.\n"
         "\n"
         "  fmha-compile --head-dim=128 --causal -o kernel.ptx\n"
         "  fmha-compile layer.mlir --target=sm_103a --emit=cubin -o k.cubin\n"
         "  fmha-compile --dump-phases-to=phases -o /dev/null\n"
         "  fmha-compile --head-dim=64 --explain --svg=pictures\n"
         "  fmha-compile --q-len=1 --kv-len=16384 --q-heads=32 --kv-heads=8 "
         "--explain\n"
         "\n"
         "Lengths, heads and the batch are hints to the planner: a kernel is "
         "right for all\nof them. With --q-len and --q-heads it plans the "
         "launch, "
         "and shares out keys among\nCTAs where they leave SMs idle.\n"
         "Exit: 0 done, 2 bad input.\n";
  table.printHelp(llvm::outs());
}

/// Stopping above PTX and asking for something below it cannot both be had.
llvm::Error checkLevels(const CompileFlags &flags) {
  if (flags.from && flags.to && *flags.from > *flags.to)
    return failure("--compile-from=" + llvm::Twine(stringify(*flags.from)) +
                   " lies below --compile-to=" + stringify(*flags.to) +
                   "; expected a level at or above it");
  if (flags.to && flags.emit != "mlir")
    return failure("--compile-to=" + llvm::Twine(stringify(*flags.to)) +
                   " stops before there is any " + flags.emit +
                   "; expected --emit=mlir, or no --compile-to");
  if (flags.from && flags.problem.input.empty())
    return failure("--compile-from expects an input file at that level, got "
                   "none");
  if (!flags.drawTo.empty() && !flags.explain)
    return failure("--svg draws what --explain tells; expected --explain "
                   "beside it, got none");
  return checkScheduleFlag(flags.problem);
}

/// Below the attention level the input says what is computed, and how.
llvm::Error checkFlagsBelow(const CompileFlags &flags, const FlagTable &table) {
  if (flags.from.value_or(Level::Attention) == Level::Attention)
    return llvm::Error::success();
  std::string names;
  for (llvm::StringRef group : {"Problem", "Kernel"})
    for (const std::string &name : table.given(group))
      if (name != "--target")
        names += (names.empty() ? "" : ", ") + name;
  if (names.empty())
    return llvm::Error::success();
  return failure("--compile-from=" + llvm::Twine(stringify(*flags.from)) +
                 " takes the problem and the schedule from '" +
                 flags.problem.input +
                 "': expected no flag for them beside it but --target, got " +
                 names + "; leave them out, or begin at the attention level");
}

CompileOptions optionsOf(const CompileFlags &flags) {
  CompileOptions options;
  options.hints = hintsOf(flags.problem);
  options.target = flags.problem.target;
  options.overrides = flags.problem.overrides;
  options.from = flags.from.value_or(Level::Attention);
  options.to = flags.to;
  // A schedule is known only below the attention level.
  if (flags.emit == "mlir" && !options.to && !flags.explain)
    options.to = options.from;
  options.keepLevels = !flags.dumpTo.empty();
  options.keepLLVM = flags.emit == "llvm";
  options.verifyKernels = flags.verifyKernels;
  return options;
}

llvm::Error dumpPhases(const CompileFlags &flags, const CompileResult &result) {
  if (std::error_code code = llvm::sys::fs::create_directories(flags.dumpTo))
    return failure("cannot create '" + flags.dumpTo + "': " + code.message());
  for (const auto &[level, text] : result.levels) {
    llvm::SmallString<256> path(flags.dumpTo);
    llvm::sys::path::append(
        path, llvm::formatv("{0,0+2}-{1}.mlir", int(level), stringify(level)));
    if (llvm::Error error = runtime::writeFile(path, text))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<std::string> cubinOf(const CompileResult &result,
                                    const std::string &target) {
  AssembleResult assembled = assemble(result.ptx, target);
  switch (assembled.status) {
  case AssembleResult::Status::Ok:
    return std::move(assembled.cubin);
  case AssembleResult::Status::Failed:
    return failure("ptxas refuses the PTX:\n" + assembled.log);
  case AssembleResult::Status::Missing:
    return failure("--emit=cubin needs ptxas: expected it on the PATH or named "
                   "by FMHA_PTXAS, got neither; assembling is skipped, and "
                   "--emit=ptx works without it");
  }
  return failure("unknown outcome of ptxas");
}

llvm::Expected<std::string> select(const CompileFlags &flags,
                                   const CompileResult &result) {
  if (flags.emit == "cubin")
    return cubinOf(result, flags.problem.target);
  if (flags.emit == "mlir")
    return result.ir;
  if (flags.emit == "llvm")
    return result.llvm;
  return flags.emit == "ptx" ? result.ptx : result.manifest;
}

llvm::Error printSchedule(const CompileResult &result) {
  if (!result.plan)
    return failure("--explain needs a plan, and none was made: expected an "
                   "input at the attention level");
  llvm::outs() << schedule::explain(result.spec.problem, *result.plan);
  return llvm::Error::success();
}

llvm::Error drawSchedule(const CompileFlags &flags,
                         const CompileResult &result) {
  // Its parent is to be there, as for -o: a slip of the pen makes no folders.
  if (std::error_code code = llvm::sys::fs::create_directory(flags.drawTo))
    return failure("cannot create '" + flags.drawTo + "': " + code.message());
  for (const schedule::Picture &picture :
       schedule::drawPictures(result.spec.problem, *result.plan)) {
    llvm::SmallString<256> path(flags.drawTo);
    llvm::sys::path::append(path, picture.name);
    if (llvm::Error error = runtime::writeFile(path, picture.svg))
      return error;
  }
  return llvm::Error::success();
}

/// The text to compile; below the attention level there is nothing to compare
/// the flags with.
llvm::Expected<Source> sourceOf(const CompileFlags &flags) {
  if (flags.from.value_or(Level::Attention) == Level::Attention) {
    ProblemFlags problem = flags.problem;
    return resolveSource(problem);
  }
  auto text = runtime::readFile(flags.problem.input);
  if (!text)
    return text.takeError();
  Source source;
  source.text = std::move(*text);
  source.name = flags.problem.input;
  return source;
}

llvm::Error emit(const CompileFlags &flags) {
  auto source = sourceOf(flags);
  if (!source)
    return source.takeError();
  CompileResult result = compile(source->text, source->name, optionsOf(flags));
  if (!result.ok)
    return failureOf(result.diagnostics);
  std::string diagnostics = formatDiagnostics(result.diagnostics);
  if (!diagnostics.empty())
    llvm::errs() << diagnostics << "\n";
  if (!flags.dumpTo.empty())
    if (llvm::Error error = dumpPhases(flags, result))
      return error;
  if (flags.explain) {
    // Standard output holds one thing: the schedule, where it is asked for.
    if (llvm::Error error = printSchedule(result))
      return error;
    if (!flags.drawTo.empty())
      if (llvm::Error error = drawSchedule(flags, result))
        return error;
    if (flags.output == "-")
      return llvm::Error::success();
  }
  auto text = select(flags, result);
  if (!text)
    return text.takeError();
  if (flags.output != "-")
    return runtime::writeFile(flags.output, *text);
  llvm::outs() << *text;
  return llvm::Error::success();
}

llvm::Error run(llvm::ArrayRef<const char *> arguments) {
  CompileFlags flags;
  FlagTable table;
  flags.add(table);
  std::vector<std::string> positional;
  if (llvm::Error error = table.parse(arguments, positional))
    return error;
  if (flags.help || flags.version) {
    flags.help ? printHelp(table) : printVersion(llvm::outs(), "fmha-compile");
    return llvm::Error::success();
  }
  if (positional.size() > 1)
    return failure("expected one input file, got '" + positional[0] +
                   "' and '" + positional[1] + "'");
  if (!positional.empty())
    flags.problem.input = positional[0];
  if (llvm::Error error = checkLevels(flags))
    return error;
  if (llvm::Error error = checkFlagsBelow(flags, table))
    return error;
  return emit(flags);
}

} // namespace

int main(int argc, char **argv) {
  llvm::Error error = run(llvm::ArrayRef<const char *>(argv + 1, argc - 1));
  if (!error)
    return 0;
  llvm::errs() << "fmha-compile: error: " << llvm::toString(std::move(error))
               << "\n";
  return 2;
}
