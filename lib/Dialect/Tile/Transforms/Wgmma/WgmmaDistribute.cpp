//===- WgmmaDistribute.cpp - Distribute the tiles of wgmma ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaDistribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

LogicalResult fmha::tile::distributeWgmma(WarpSpecializeOp op,
                                          const KernelInfo &info) {
  return distributeTiles(
      op, convertFragment,
      [&](RewritePatternSet &patterns, const TypeConverter &converter) {
        populateWgmmaArithmetic(patterns, converter, info);
        populateWgmmaMemory(patterns, converter, info);
        populateFragmentPatterns(patterns, converter, info);
      });
}
