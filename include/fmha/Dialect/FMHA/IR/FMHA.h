//===- FMHA.h - The fmha dialect, its attributes and op ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_FMHA_H
#define FMHA_DIALECT_FMHA_IR_FMHA_H

#include "fmha/Schedule/Model/Schedule.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fmha::schedule {
/// Hashes for uniquing attributes, found by argument-dependent lookup.
llvm::hash_code hash_value(const Mask &mask);
llvm::hash_code hash_value(const Role &role);
llvm::hash_code hash_value(const Schedule &schedule);
} // namespace fmha::schedule

namespace fmha {
/// The problem of a kernel: without hints, and with the factor of its scores.
struct KernelProblem : schedule::Problem {
  std::optional<double> scale;
  bool operator==(const KernelProblem &) const = default;
};
llvm::hash_code hash_value(const KernelProblem &problem);

class ScheduleAttr;
/// Memory maps that were computed before.
struct CheckedMaps;
} // namespace fmha

#include "fmha/Dialect/FMHA/IR/FMHADialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fmha/Dialect/FMHA/IR/FMHAAttrs.h.inc"

#define GET_OP_CLASSES
#include "fmha/Dialect/FMHA/IR/FMHAOps.h.inc"

#endif // FMHA_DIALECT_FMHA_IR_FMHA_H
