//===- KernelInfo.h - Problem and schedule of a kernel ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_KERNEL_KERNELINFO_H
#define FMHA_KERNEL_KERNELINFO_H

#include "fmha/Schedule/Rules/RegisterDemand.h"

#include "mlir/Support/LLVM.h"

namespace mlir {
class Operation;
namespace gpu {
class GPUFuncOp;
}
} // namespace mlir

namespace fmha::tile {

class KernelAttr;

/// Problem, schedule and memory map of a kernel. For a kernel made from an
/// attention op they come from its operands, ops and `fmha.schedule`, for
/// another program from its `tile.kernel`.
struct KernelInfo {
  schedule::Problem problem;
  schedule::Schedule schedule;
  schedule::MemoryMap map;
  /// The kernel was not made from an attention op: `problem` is empty, and
  /// `schedule` has only target and roles.
  bool isProgram = false;
  /// boxRows() of the operands of a program.
  std::vector<unsigned> programBoxes;

  /// Returns the rows of the boxes in which TMA copies tiles of operand
  /// `operand`; 0 if it copies none.
  unsigned boxRows(unsigned operand) const;
};

using schedule::demand::Workaround;
/// Whether ptxas spills registers of the kernel unless passes do `what`.
inline bool needs(Workaround what, const KernelInfo &info) {
  return !info.isProgram &&
         schedule::demand::needs(what, info.problem, info.schedule);
}

/// Whether messages of a channel follow those of an earlier output tile.
inline bool runsAhead(const KernelInfo &info) {
  return !info.isProgram && schedule::runsAhead(info.problem, info.schedule);
}

/// Returns the regions of `kernel`; there are none before tile-assign-memory.
schedule::MemoryMap memoryOf(KernelAttr kernel);
/// Returns the information of `func`, for which isTiledKernel() holds. Errors:
/// its target cannot hold its schedule, or its operands are not those of such a
/// kernel.
mlir::FailureOr<KernelInfo> readKernelInfo(mlir::gpu::GPUFuncOp func);
/// Returns the value of runsAhead() for `func`. Errors as readKernelInfo().
mlir::FailureOr<bool> readRunsAhead(mlir::gpu::GPUFuncOp func);
/// Whether `func` has an `fmha.schedule` or a `tile.kernel`.
bool isTiledKernel(mlir::Operation *func);
/// Returns the schedule of `func`, a kernel at any level; for a program one
/// with the target and roles of its `tile.kernel`.
schedule::Schedule scheduleOf(mlir::Operation *func);

/// Returns a problem with the optional operands of `func`, a gpu.func or
/// llvm.func, according to its `fmha.problem`. An LSE may be missing there.
schedule::Problem readOptionalOperands(mlir::Operation *func);

/// The stage of a kernel in the order of the passes, according to its ops.
enum class KernelStage { Tiled, Placed, Specialized, Synchronized, Machine };

/// Returns the stage of a kernel; nothing if it has no tile ops.
std::optional<KernelStage> stageOf(mlir::gpu::GPUFuncOp func);

/// Emits an error at `func` and fails if it is at another stage than
/// `expected`, the input of `pass`. The message has the pass to run first, or
/// reports that `pass` has been run already. A kernel without tile ops is at no
/// stage; it passes if `expected` is Machine, whose ops are lowered one by one.
mlir::LogicalResult expectStage(mlir::gpu::GPUFuncOp func, KernelStage expected,
                                llvm::StringRef pass);

} // namespace fmha::tile

#endif // FMHA_KERNEL_KERNELINFO_H
