//===- FmhaPlugin.cpp - The project inside stock mlir-opt -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   mlir-opt --load-dialect-plugin=FmhaPlugin.so
//            --load-pass-plugin=FmhaPlugin.so
//            --pass-pipeline='builtin.module(fmha-decompose-to-linalg)'
//
// Loading a plugin happens after the command line is read, so passes are named
// in --pass-pipeline and not by flags of their own.
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Register.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm-c/Core.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Compiler.h"

#include <cstdio>

static constexpr const char *pluginName = "Fmha";
/// MLIR checks only its plugin API number; the LLVM version in this text
/// names the host for which the plugin was built.
static constexpr const char *pluginVersion =
    FMHA_VERSION "-llvm" LLVM_VERSION_STRING;

/// Returns the plugin API number of this LLVM, or under another one, after a
/// line that says so, a number that no host accepts.
static uint32_t apiVersion() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  if (major == LLVM_VERSION_MAJOR)
    return MLIR_PLUGIN_API_VERSION;
  std::fprintf(stderr,
               "FmhaPlugin-%d.so: expected a host of LLVM %d, got LLVM %u.%u; "
               "take mlir-opt-%d, or build the plugin with that LLVM\n",
               LLVM_VERSION_MAJOR, LLVM_VERSION_MAJOR, major, minor,
               LLVM_VERSION_MAJOR);
  return 0;
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT ::mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {apiVersion(), pluginName, pluginVersion,
          [](mlir::DialectRegistry *registry) {
            fmha::registerAllFmha(*registry);
            // A host that is given the dialect alone still knows the passes.
            fmha::registerAllFmhaPasses();
          }};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT ::mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {apiVersion(), pluginName, pluginVersion,
          [] { fmha::registerAllFmhaPasses(); }};
}
