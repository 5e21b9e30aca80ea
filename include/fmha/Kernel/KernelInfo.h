//===- KernelInfo.h - What a kernel function says of itself -----*- C++ -*-===//
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

/// Problem, schedule and memory map of a kernel: of one that an attention op
/// made from its operands, ops and `fmha.schedule`, of another program from its
/// `tile.kernel`.
struct KernelInfo {
  schedule::Problem problem;
  schedule::Schedule schedule;
  schedule::MemoryMap map;
  /// No attention op made the kernel: `problem` is empty, and of `schedule`
  /// target and roles count.
  bool isProgram = false;
  /// Of a program, boxRows() of its operands.
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

/// Returns the regions of `kernel`, none before tile-assign-memory has run.
schedule::MemoryMap memoryOf(KernelAttr kernel);
/// Returns the information of `func`, for which isTiledKernel() holds. Errors:
/// its target cannot hold its schedule, or its operands are not those of such a
/// kernel.
mlir::FailureOr<KernelInfo> readKernelInfo(mlir::gpu::GPUFuncOp func);
/// Whether `func` has an `fmha.schedule` or a `tile.kernel`.
bool isTiledKernel(mlir::Operation *func);
/// Returns the schedule of `func`, a kernel at any level: of a program one with
/// the target and roles of its `tile.kernel`.
schedule::Schedule scheduleOf(mlir::Operation *func);

/// The tensors besides q, k, v and o that a kernel has, as far as
/// `fmha.problem` of `func`, a gpu.func or llvm.func, says so; an LSE needs no
/// mark.
schedule::Problem readOptionalOperands(mlir::Operation *func);

/// What a kernel has been through, as far as its ops show, in the order of the
/// passes.
enum class KernelStage { Tiled, Placed, Specialised, Synchronised, Machine };

/// Absent for a kernel without tile ops.
std::optional<KernelStage> stageOf(mlir::gpu::GPUFuncOp func);

/// Fails with a diagnostic on `func` where its ops show another stage than
/// `expected`, the input of `pass`: it names the pass to run first, or says
/// that `pass` has been here. A kernel without tile ops is at no stage; it
/// passes where `expected` is Machine, whose ops are taken one by one.
mlir::LogicalResult expectStage(mlir::gpu::GPUFuncOp func, KernelStage expected,
                                llvm::StringRef pass);

} // namespace fmha::tile

#endif // FMHA_KERNEL_KERNELINFO_H
