//===- Dialects.cpp - Dialects and passes for MLIR's C API ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha-c/Dialects.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Pipeline/Register.h"

#include "mlir/CAPI/Registration.h"

#include <mutex>

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(FMHA, fmha, fmha::FMHADialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Tile, tile, fmha::tile::TileDialect)

void fmhaRegisterAllDialects(MlirDialectRegistry registry) {
  fmha::registerAllFmha(*unwrap(registry));
}

void fmhaRegisterAllPasses() {
  static std::once_flag once;
  std::call_once(once, fmha::registerAllFmhaPasses);
}
