//===- RolledLoops.h - Loops that are not unrolled --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_TRANSFORMS_ROLLEDLOOPS_H
#define FMHA_DIALECT_TILE_TRANSFORMS_ROLLEDLOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fmha::tile {

/// Prevents unrolling of `loop`, for roles with too few registers for several
/// iterations at once.
void keepRolled(mlir::scf::ForOp loop);

} // namespace fmha::tile

#endif // FMHA_DIALECT_TILE_TRANSFORMS_ROLLEDLOOPS_H
