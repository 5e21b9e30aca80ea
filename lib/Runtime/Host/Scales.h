//===- Scales.h - Check scales of numbers of 8 bits -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_HOST_SCALES_H
#define FMHA_LIB_RUNTIME_HOST_SCALES_H

#include "fmha/Runtime/Attention.h"

namespace fmha::runtime {

/// Checks that scales have the numbers of entries that the kernel reads, and
/// that those of all heads, and of the pages that sequences have keys in, are
/// finite. Lists and sequences must have been checked.
llvm::Error checkScales(const Manifest &manifest,
                        const AttentionTensors &tensors);

} // namespace fmha::runtime

#endif // FMHA_LIB_RUNTIME_HOST_SCALES_H
