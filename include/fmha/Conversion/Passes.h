//===- Passes.h - Passes between levels and to host code --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_CONVERSION_PASSES_H
#define FMHA_CONVERSION_PASSES_H

#include "fmha/Conversion/FieldOption.h"

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
namespace func {
class FuncOp;
} // namespace func
namespace gpu {
class GPUModuleOp;
} // namespace gpu
} // namespace mlir

namespace fmha {

/// An option that is on or off.
enum class Switch { Off, On };

/// Constraints of fmha-insert-checks: all, or those on varlen metadata entries.
enum class CheckedRules { All, Lists };

/// Memory that kernels use instead of host memory: device memory, with copies,
/// or managed memory, which both sides can access.
enum class Memory { Device, Managed };

#define GEN_PASS_DECL
#include "fmha/Conversion/Passes.h.inc"

/// Creates fmha-plan-schedule with the options of fields that `overrides`
/// fixes, and of `hints`. It calls `onPlan`, if there is one, for each op that
/// it plans.
std::unique_ptr<mlir::Pass> createPlanSchedule(
    const PlanScheduleOptions &options, const schedule::Overrides &overrides,
    const schedule::Hints &hints, schedule::PlanListener onPlan = {});

#define GEN_PASS_REGISTRATION
#include "fmha/Conversion/Passes.h.inc"

} // namespace fmha

#endif // FMHA_CONVERSION_PASSES_H
