//===- FMHAAttrs.h - The fmha dialect and its attributes --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The class of the dialect, and its attributes: masks, roles, schedules and
// problems, each of which wraps a plain type. For code that needs none of the
// dialect's ops; FMHA.h has those as well.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_ATTRIBUTES_FMHAATTRS_H
#define FMHA_DIALECT_FMHA_ATTRIBUTES_FMHAATTRS_H

#include "fmha/Schedule/Model/Schedule.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"

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

#include "fmha/Dialect/FMHA/Attributes/FMHADialect.h.inc"
#include "fmha/Dialect/FMHA/Attributes/FMHAEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h.inc"

#endif // FMHA_DIALECT_FMHA_ATTRIBUTES_FMHAATTRS_H
