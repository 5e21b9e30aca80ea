//===- Tcgen05.h - The tcgen05 dialect --------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TCGEN05_IR_TCGEN05_H
#define FMHA_DIALECT_TCGEN05_IR_TCGEN05_H

#include "fmha/Dialect/Tcgen05/IR/MmaForm.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "fmha/Dialect/Tcgen05/IR/Tcgen05Dialect.h.inc"
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Enums.h.inc"

namespace fmha::tcgen05 {

/// The attribute of an llvm.inline_asm that a whole warp executes.
inline constexpr llvm::StringLiteral convergentName = "tcgen05.convergent";

/// Resources of the effects of ops.
struct TensorMemory : mlir::SideEffects::Resource::Base<TensorMemory> {
  llvm::StringRef getName() final { return "TensorMemory"; }
};
struct SharedMemory : mlir::SideEffects::Resource::Base<SharedMemory> {
  llvm::StringRef getName() final { return "SharedMemory"; }
};
struct Barriers : mlir::SideEffects::Resource::Base<Barriers> {
  llvm::StringRef getName() final { return "Barriers"; }
};

} // namespace fmha::tcgen05

#define GET_ATTRDEF_CLASSES
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Attrs.h.inc"

#define GET_OP_CLASSES
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Ops.h.inc"

namespace fmha::tcgen05 {

/// Returns the targets that have tcgen05.ld.red, by ptxas 13.0.
llvm::ArrayRef<llvm::StringLiteral> reducingChips();

/// Returns whether a target, such as "sm_103a", has tcgen05.ld.red.
bool hasReducingLoads(llvm::StringRef chip);

} // namespace fmha::tcgen05

#endif // FMHA_DIALECT_TCGEN05_IR_TCGEN05_H
