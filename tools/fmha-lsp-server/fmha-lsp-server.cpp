//===- fmha-lsp-server.cpp - Diagnostics and hover for editors ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The stock mlir-lsp-server cannot load dialect plugins, so the project has its
// own server.
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Register.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &stream) {
    stream << "fmha-lsp-server " FMHA_VERSION " (LLVM " LLVM_VERSION_STRING
              ")\n";
  });
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  fmha::registerAllFmha(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
