//===- ConvKernel.h - The kernel of a convolution ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_TCGEN05_CONVKERNEL_H
#define FMHA_LIB_CONVERSION_TCGEN05_CONVKERNEL_H

#include "fmha/Dialect/Conv/IR/ConvPlan.h"

#include "mlir/IR/Builders.h"

namespace fmha {

/// Adds the kernel of a convolution of elements of `element` to the module
/// that `b` is at the end of, with the shared memory that it uses. Its
/// parameters are those of the plan's manifest.
void buildConvKernel(mlir::OpBuilder &b, mlir::Location loc,
                     mlir::StringRef name, const conv::ConvPlan &plan,
                     mlir::Type element);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_TCGEN05_CONVKERNEL_H
