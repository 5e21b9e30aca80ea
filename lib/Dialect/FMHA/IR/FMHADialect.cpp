//===- FMHADialect.cpp - Registration of the fmha dialect -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/IR/FMHA.h"

using namespace mlir;
using namespace fmha;

#include "fmha/Dialect/FMHA/IR/FMHADialect.cpp.inc"

void FMHADialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "fmha/Dialect/FMHA/IR/FMHAOps.cpp.inc"
      >();
}
