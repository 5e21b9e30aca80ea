//===- ProgramManifest.h - The launch of a program --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_PROGRAMMANIFEST_H
#define FMHA_LIB_PIPELINE_PROGRAMMANIFEST_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Support/LLVM.h"

#include <string>

namespace fmha {

/// Returns the launch manifest of `func`, a kernel with `tile.kernel`, as JSON:
///   format      "fmha-program"
///   schema_version  1
///   id          kernelId() of its PTX
///   kernel      name of the entry
///   target      "sm_90a", ...
///   block       threads of a CTA
///   smem_bytes  dynamic shared memory
///   parameters  in order, each with its `name`, its `kind` (tensor_map,
///               pointer, u32 or u64) and the `operand` that it belongs to; an
///               extent has the dimension `size`, a stride `stride`. A tensor
///               map has `dtype`, `dims` (the dimensions of the operand,
///               innermost first), `box` and `swizzle`.
/// The caller determines the grid.
std::string programManifest(mlir::LLVM::LLVMFuncOp func, const std::string &id);

/// Returns the comment at the start of the PTX of `func`.
std::string programHeading(mlir::LLVM::LLVMFuncOp func);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_PROGRAMMANIFEST_H
