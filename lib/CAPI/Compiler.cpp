//===- Compiler.cpp - The attention compiler from C -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha-c/Compiler.h"
#include "Options.h"
#include "fmha/Version.h"

using namespace fmha;

struct FmhaResult {
  CompiledKernel kernel;
  std::string messages;
};

/// Returns a failed result with `error` as its only diagnostic.
static CompiledKernel failed(llvm::Error error) {
  CompiledKernel kernel;
  kernel.diagnostics.push_back({Diagnostic::Severity::Error, "options",
                                llvm::toString(std::move(error))});
  return kernel;
}

static CompiledKernel compileWith(const char *text, const char *json) {
  auto options = capi::parseOptions(json, /*isQuery=*/false);
  if (!options)
    return failed(options.takeError());
  auto request = capi::requestOf(*options, text);
  if (!request)
    return failed(request.takeError());
  auto cache = options->cache ? KernelCache::fromEnvironment() : std::nullopt;
  return compileKernel(*request, cache ? &*cache : nullptr);
}

int fmhaCompile(const char *text, const char *options_json,
                FmhaResult **result) {
  if (!result)
    return 1;
  auto *made = new FmhaResult{compileWith(text, options_json), ""};
  made->messages = tools::formatDiagnostics(made->kernel.diagnostics);
  *result = made;
  return made->kernel.ok ? 0 : 1;
}

void fmhaResultDestroy(FmhaResult *result) { delete result; }

bool fmhaResultOk(const FmhaResult *result) { return result->kernel.ok; }

const char *fmhaResultPtx(const FmhaResult *result) {
  return result->kernel.ptx.c_str();
}

const void *fmhaResultCubin(const FmhaResult *result, size_t *bytes) {
  const std::string &cubin = result->kernel.cubin;
  if (bytes)
    *bytes = cubin.size();
  return cubin.empty() ? nullptr : cubin.data();
}

const char *fmhaResultManifest(const FmhaResult *result) {
  return result->kernel.manifest.c_str();
}

const char *fmhaResultReport(const FmhaResult *result) {
  return result->kernel.report.c_str();
}

bool fmhaResultFromCache(const FmhaResult *result) {
  return result->kernel.fromCache;
}

size_t fmhaResultDiagnosticCount(const FmhaResult *result) {
  return result->kernel.diagnostics.size();
}

FmhaDiagnostic fmhaResultDiagnostic(const FmhaResult *result, size_t index) {
  if (index >= result->kernel.diagnostics.size())
    return {FMHA_NOTE, "", ""};
  const Diagnostic &diagnostic = result->kernel.diagnostics[index];
  return {FmhaSeverity(diagnostic.severity), diagnostic.location.c_str(),
          diagnostic.message.c_str()};
}

const char *fmhaResultMessages(const FmhaResult *result) {
  return result->messages.c_str();
}

const char *fmhaCompilerVersion() { return FMHA_VERSION; }
