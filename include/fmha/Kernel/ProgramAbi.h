//===- ProgramAbi.h - Parameters of a compiled program ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Like KernelAbi.h, for kernels with `tile.kernel`, which may have any
// operands.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_KERNEL_PROGRAMABI_H
#define FMHA_KERNEL_PROGRAMABI_H

#include "fmha/Kernel/KernelAbi.h"

#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"

namespace fmha {

/// Returns the parameters of a program with operands of types `operands`.
/// Operand n has the name "arg<n>", or "capture<k>" if it is a memref in global
/// memory. A memref [batch, length, heads, dim] of f16 or bf16 becomes a tensor
/// map; one of f32, a memref [batch, heads, length] of f32 and a memref in
/// global memory become pointers; an i32 stays one. After the operands come the
/// dynamic extents of each memref, "arg<n>_size<d>", and, if it is a pointer,
/// its strides in elements without the last one. Errors, by `emitError`: an
/// operand of another type.
mlir::FailureOr<std::vector<KernelParameter>>
programParameters(llvm::ArrayRef<mlir::Type> operands,
                  llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Like extentParameter(), for an operand of a program.
std::string programExtent(const std::string &operand, unsigned dimension);

} // namespace fmha

#endif // FMHA_KERNEL_PROGRAMABI_H
