//===- KernelEpilogue.h - Outputs of a kernel -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_KERNELEPILOGUE_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_KERNELEPILOGUE_H

#include "KernelQueries.h"
#include "KernelSoftmax.h"

namespace fmha {

/// Writes the outputs of all query tiles, whose states the loop returned in
/// `results`.
void buildEpilogue(KernelContext &k, const Coordinates &at, QueryTiles &queries,
                   mlir::ValueRange results);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_KERNELEPILOGUE_H
