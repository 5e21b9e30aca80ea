//===- Registration.cpp - Register the fmha dialect -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/Transforms/Registration.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/Transforms/BufferizableOpInterfaceImpl.h"
#include "fmha/Dialect/FMHA/Transforms/Passes.h"
#include "fmha/Dialect/FMHA/Transforms/ShardingInterfaceImpl.h"
#include "fmha/Dialect/FMHA/Transforms/TilingInterfaceImpl.h"

void fmha::registerFMHADialect(mlir::DialectRegistry &registry) {
  registry.insert<FMHADialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
  registerTilingInterfaceExternalModels(registry);
  registerShardingInterfaceExternalModels(registry);
}

void fmha::registerFMHATransforms() {
  registerFMHAPasses();
  registerCPUPipeline();
}
