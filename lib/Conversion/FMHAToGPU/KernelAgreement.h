//===- KernelAgreement.h - Check a kernel against its op --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOGPU_KERNELAGREEMENT_H
#define FMHA_LIB_CONVERSION_FMHATOGPU_KERNELAGREEMENT_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Runtime/Manifest.h"

namespace fmha {

/// The operands of an op by their names in the manifest; null if the op has
/// none of that name.
using NamedOperands =
    llvm::SmallVector<std::pair<runtime::TensorName, mlir::Value>>;
NamedOperands operandsOf(AttentionOp op);
NamedOperands operandsOf(MergeOp op);
NamedOperands operandsOf(AppendOp op);

/// Emits an error at `op` and fails if the kernel of `manifest` does not
/// compute it: other tensors, element types, head dims, masks or scale.
llvm::LogicalResult checkAgreement(AttentionOp op,
                                   const runtime::Manifest &manifest);
llvm::LogicalResult checkAgreement(MergeOp op,
                                   const runtime::MergeManifest &manifest);
llvm::LogicalResult checkAgreement(AppendOp op,
                                   const runtime::AppendManifest &manifest);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOGPU_KERNELAGREEMENT_H
