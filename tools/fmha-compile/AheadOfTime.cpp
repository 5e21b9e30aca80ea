//===- AheadOfTime.cpp - Kernels compiled ahead of time -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AheadOfTime.h"
#include "fmha/Pipeline/Embedded/AheadOfTime.h"
#include "fmha/Pipeline/Query.h"
#include "fmha/Runtime/Files.h"
#include "fmha/Schedule/Report/Explain.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace fmha;
using namespace fmha::tools;
using fmha::runtime::failure;

llvm::Expected<Source> fmha::tools::sourceOf(const CompileFlags &flags) {
  if (flags.from.value_or(Level::Attention) == Level::Attention) {
    ProblemFlags problem = flags.problem;
    problem.function = flags.function;
    problem.functionMayDiffer = flags.isAheadOfTime();
    auto source = resolveSource(problem);
    if (source && !source->isAttention && !flags.problemFlags.empty())
      return failure(flags.problemFlags.front().argument +
                     " describes attention: expected no such flag with '" +
                     problem.input +
                     "', which has no fmha.attention; leave it out");
    return source;
  }
  auto text = runtime::readFile(flags.problem.input);
  if (!text)
    return text.takeError();
  Source source;
  source.text = std::move(*text);
  source.name = flags.problem.input;
  return source;
}

void fmha::tools::printRejection(const CompileFlags &flags,
                                 const Source &source) {
  if (!flags.explain ||
      flags.from.value_or(Level::Attention) != Level::Attention)
    return;
  KernelQuery query = queryKernel(source.text, source.name, optionsOf(flags));
  if (query.ok && query.family == "none")
    llvm::outs() << schedule::explainRejection(flags.problem.target,
                                               query.reason);
}

llvm::Expected<CompiledKernel>
fmha::tools::compileFor(const CompileFlags &flags, bool cubin) {
  auto source = sourceOf(flags);
  if (!source)
    return source.takeError();
  KernelRequest request;
  request.text = source->text;
  request.name = source->name;
  request.options = optionsOf(flags);
  request.report = flags.explain;
  request.cubin = cubin;
  auto cache = flags.cache ? KernelCache::fromEnvironment() : std::nullopt;
  CompiledKernel kernel = compileKernel(request, cache ? &*cache : nullptr);
  if (!kernel.ok) {
    printRejection(flags, *source);
    return failureOf(kernel.diagnostics);
  }
  std::string diagnostics = formatDiagnostics(kernel.diagnostics);
  if (!diagnostics.empty())
    llvm::errs() << diagnostics << "\n";
  return kernel;
}

/// Returns the entry of the kernel, from its manifest.
static std::string entryOf(const CompiledKernel &kernel) {
  auto manifest = llvm::json::parse(kernel.manifest);
  if (!manifest)
    llvm::report_fatal_error(manifest.takeError());
  return manifest->getAsObject()->getString("kernel").value_or("").str();
}

/// Compiles for all targets, and assembles if ptxas is available.
static llvm::Expected<EmbeddedKernel> compileAll(CompileFlags flags) {
  EmbeddedKernel all;
  all.function = flags.function;
  for (const std::string &target : flags.targets) {
    flags.problem.target = target;
    auto kernel = compileFor(flags, findPtxas().has_value());
    // Add the target to the error, unless the error is about a target.
    if (!kernel)
      return whyUnsupported(target).empty()
                 ? failure("for " + target + ": " +
                           llvm::toString(kernel.takeError()))
                 : kernel.takeError();
    if (all.function.empty())
      all.function = entryOf(*kernel);
    if (flags.explain)
      llvm::outs() << kernel->report;
    all.images.push_back({target, std::move(kernel->ptx),
                          std::move(kernel->manifest),
                          std::move(kernel->cubin)});
  }
  return all;
}

/// Returns the path of the launcher's archive, ../lib/libfmha_rt.a from the
/// folder of this program.
static llvm::Expected<std::string> findLauncher() {
  static int inThisProgram;
  llvm::SmallString<256> path(
      llvm::sys::fs::getMainExecutable(nullptr, &inThisProgram));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "..", "lib", "libfmha_rt.a");
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  if (llvm::sys::fs::exists(path))
    return path.str().str();
  return failure("--emit=so links the launcher: expected it at '" + path +
                 "', got none; --emit=object works without");
}

/// Writes the declarations to a header in the folder of the object or library.
static llvm::Error writeDeclarations(const CompileFlags &flags,
                                     const EmbeddedKernel &kernel) {
  llvm::SmallString<256> path(flags.output);
  llvm::StringRef extension = llvm::sys::path::extension(path);
  if (extension != ".o" && extension != ".so")
    return llvm::Error::success();
  llvm::sys::path::replace_extension(path, ".h");
  return runtime::writeFile(path, embeddedDeclarations(kernel));
}

static llvm::Expected<std::string> libraryOf(const CompileFlags &flags,
                                             const EmbeddedKernel &kernel) {
  auto launcher = findLauncher();
  if (!launcher)
    return launcher.takeError();
  auto object = embeddedObject(kernel);
  return object ? linkEmbedded(kernel, *object, *launcher,
                               llvm::sys::path::filename(flags.output).str())
                : std::move(object);
}

static llvm::Expected<std::string> make(const CompileFlags &flags,
                                        const EmbeddedKernel &kernel) {
  if (flags.emit == "so")
    return libraryOf(flags, kernel);
  if (flags.emit == "object")
    return embeddedObject(kernel);
  if (flags.emit == "fatbin")
    return fatBinary(kernel);
  return embeddedHeader(kernel);
}

llvm::Error fmha::tools::emitAheadOfTime(const CompileFlags &flags) {
  auto kernel = compileAll(flags);
  if (!kernel)
    return kernel.takeError();
  auto made = make(flags, *kernel);
  if (!made)
    return made.takeError();
  if (flags.output == "-") {
    if (!flags.explain)
      llvm::outs() << *made;
    return llvm::Error::success();
  }
  if (llvm::Error error = runtime::writeFile(flags.output, *made))
    return error;
  return flags.emit == "object" || flags.emit == "so"
             ? writeDeclarations(flags, *kernel)
             : llvm::Error::success();
}
