//===- BufferGroups.h - How kernels access host memory ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERGROUPS_H
#define FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERGROUPS_H

#include "BufferUses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace fmha {

enum class Placement {
  /// The buffers are allocated in device memory instead.
  Move,
  /// Each buffer has a copy on the device.
  Copy,
  /// Not all uses are known: memrefs are copied before and after each kernel.
  Around
};

/// Buffers that kernels reach through the same memrefs.
struct BufferGroup {
  llvm::SmallVector<BufferUses, 1> buffers;
  /// The operands of `kernels` that are views of the buffers.
  llvm::SetVector<mlir::Value> memrefs;
  llvm::SetVector<mlir::Operation *> kernels;
  Placement placement = Placement::Around;
};

/// Returns the memrefs that a kernel op reads and writes.
llvm::SetVector<mlir::Value> memrefsOf(mlir::Operation *kernel);

/// Returns the groups of buffers in host memory that the kernels of `function`
/// use, with the placement of each group. If `isManaged`, the host can access
/// the device's allocations as well. Does not change the IR. Emits an error and
/// fails if a memref of a kernel may be in either host or device memory.
llvm::FailureOr<std::vector<BufferGroup>>
groupBuffers(mlir::func::FuncOp function, const FunctionSummaries &callees,
             bool isManaged);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERGROUPS_H
