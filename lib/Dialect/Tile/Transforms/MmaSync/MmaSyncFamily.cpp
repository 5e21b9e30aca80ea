//===- MmaSyncFamily.cpp - Kernels that multiply by mma.sync --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   consumer0     all ops: copies by cp.async, products, softmax and stores, by
//                 four warps with 16 or 32 rows of the query tile each
//
//===----------------------------------------------------------------------===//

#include "Common/KernelFamily.h"
#include "MmaSync/MmaSyncDistribute.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

static constexpr RoleRule roles[] = {{"consumer", Agent::Threads, false, true,
                                      [](Operation *) { return true; }}};

const PartitionFamily &tile::mmaSyncPartition() {
  static const PartitionFamily family = {roles,
                                         /*channels=*/{},
                                         /*laterStageFirst=*/false,
                                         /*asyncProducts=*/false,
                                         /*releaseArrivals=*/128,
                                         /*mergesInstances=*/false,
                                         /*hasOneRole=*/true};
  return family;
}

/// Four warps with one or two products of 16 rows each.
static constexpr int64_t productRows[] = {64, 128};

const KernelFamily &tile::mmaSyncFamily() {
  static const KernelFamily family = {[](const target::Target &target) {
                                        constexpr unsigned rowsOfMmaSync = 16;
                                        return target.mmaRows == rowsOfMmaSync;
                                      },
                                      mmaSyncPartition(),
                                      {/*productsInTmem=*/false,
                                       /*copiesAtUse=*/true, productRows,
                                       /*columnStep=*/8},
                                      distributeMmaSync,
                                      productOfMmaSync,
                                      copiesOfMmaSync};
  return family;
}
