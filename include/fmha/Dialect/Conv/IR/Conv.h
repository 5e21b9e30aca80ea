//===- Conv.h - The conv dialect --------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_CONV_IR_CONV_H
#define FMHA_DIALECT_CONV_IR_CONV_H

#include "fmha/Dialect/Conv/IR/ConvPlan.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "fmha/Dialect/Conv/IR/ConvDialect.h.inc"

#define GET_OP_CLASSES
#include "fmha/Dialect/Conv/IR/ConvOps.h.inc"

#endif // FMHA_DIALECT_CONV_IR_CONV_H
