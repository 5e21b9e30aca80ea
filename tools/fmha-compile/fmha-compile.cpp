//===- fmha-compile.cpp - Compile an attention op -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the command line, calls the compiler once, and writes one output.
//
//===----------------------------------------------------------------------===//

#include "AheadOfTime.h"
#include "PrintLayouts.h"
#include "Tune.h"
#include "fmha/Runtime/Files.h"
#include "fmha/Schedule/Report/Explain.h"
#include "fmha/Schedule/Report/Pictures.h"
#include "fmha/Schedule/Rules/RegisterDemand.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace fmha;
using namespace fmha::tools;
using fmha::runtime::failure;

namespace {

llvm::Error dumpPhases(const CompileFlags &flags, const CompileResult &result) {
  // The parent must exist, as for -o: a misspelled path creates no folders.
  if (std::error_code code = llvm::sys::fs::create_directory(flags.dumpTo))
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
    return failure("ptxas rejects the PTX:\n" + assembled.log);
  case AssembleResult::Status::Missing:
    return failure("--emit=cubin needs ptxas: expected it on the PATH or named "
                   "by FMHA_PTXAS, got neither; --emit=ptx works without it");
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

llvm::Error write(const CompileFlags &flags, llvm::StringRef bytes) {
  if (flags.output != "-")
    return runtime::writeFile(flags.output, bytes);
  llvm::outs() << bytes;
  return llvm::Error::success();
}

/// Emits the kernel, using the cache.
llvm::Error emitKept(const CompileFlags &flags) {
  auto kernel = compileFor(flags, flags.emit == "cubin");
  if (!kernel)
    return kernel.takeError();
  if (flags.explain) {
    llvm::outs() << kernel->report;
    if (flags.output == "-")
      return llvm::Error::success();
  }
  return write(flags, flags.emit == "cubin" ? kernel->cubin
                      : flags.emit == "ptx" ? kernel->ptx
                                            : kernel->manifest);
}

llvm::Error emit(const CompileFlags &flags) {
  auto source = sourceOf(flags);
  if (!source)
    return source.takeError();
  CompileResult result = compile(source->text, source->name, optionsOf(flags));
  if (!result.ok) {
    printRejection(flags, *source);
    return failureOf(result.diagnostics);
  }
  std::string diagnostics = formatDiagnostics(result.diagnostics);
  if (!diagnostics.empty())
    llvm::errs() << diagnostics << "\n";
  if (!flags.dumpTo.empty())
    if (llvm::Error error = dumpPhases(flags, result))
      return error;
  if (flags.explain) {
    // Standard output has only the schedule, if that is requested.
    if (llvm::Error error = printSchedule(result))
      return error;
    if (!flags.drawTo.empty())
      if (llvm::Error error = drawSchedule(flags, result))
        return error;
  }
  if (!flags.layouts.empty())
    if (llvm::Error error = printLayouts(flags, result))
      return error;
  if (flags.reports() && flags.output == "-")
    return llvm::Error::success();
  auto text = select(flags, result);
  return text ? write(flags, *text) : text.takeError();
}

/// Says of scales with a value, which looks like a constant of the kernel, that
/// the kernel reads them at launch.
void warnAboutScales(const ProblemFlags &flags) {
  for (auto [name, given] : {std::pair("k_scale", &flags.kScale),
                             {"v_scale", &flags.vScale},
                             {"q_scale", &flags.qScale}})
    if (*given && !(*given)->empty())
      llvm::errs() << "warning: the kernel reads " << name << " at launch; '"
                   << **given << "' is ignored\n";
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
  if (flags.listDemand) {
    llvm::outs() << schedule::demand::listRows();
    return llvm::Error::success();
  }
  if (positional.size() > 1)
    return failure("expected one input file, got '" + positional[0] +
                   "' and '" + positional[1] + "'");
  if (!positional.empty())
    flags.problem.input = positional[0];
  if (llvm::Error error = checkFlags(flags, table))
    return error;
  warnAboutScales(flags.problem);
  if (flags.tune)
    if (llvm::Error error = tune(flags))
      return error;
  if (flags.isAheadOfTime())
    return emitAheadOfTime(flags);
  return flags.cache ? emitKept(flags) : emit(flags);
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
