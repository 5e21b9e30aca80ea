//===- HostProgram.h - Host-side conversions of fmha ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_CONVERSION_HOSTPROGRAM_H
#define FMHA_CONVERSION_HOSTPROGRAM_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fmha {

/// Lets `convert-to-llvm` and `gpu-to-llvm` lower the host ops of the fmha
/// dialect (fmha.tensor_map and device queries) to calls of libfmha_mgpu.so.
void registerConvertFMHAHostToLLVMInterface(mlir::DialectRegistry &registry);

} // namespace fmha

#endif // FMHA_CONVERSION_HOSTPROGRAM_H
