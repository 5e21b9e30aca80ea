//===- FMHA.h - The fmha dialect, its attributes and ops --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_FMHA_H
#define FMHA_DIALECT_FMHA_IR_FMHA_H

#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "fmha/Dialect/FMHA/IR/FMHAOps.h.inc"

#endif // FMHA_DIALECT_FMHA_IR_FMHA_H
