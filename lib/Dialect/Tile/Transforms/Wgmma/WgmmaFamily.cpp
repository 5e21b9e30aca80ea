//===- WgmmaFamily.cpp - Kernels that multiply by wgmma -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/KernelFamily.h"
#include "Wgmma/WgmmaDistribute.h"

using namespace fmha;
using namespace fmha::tile;

/// M of wgmma.m64nNk16.
static constexpr int64_t productRows[] = {64};

const KernelFamily &tile::wgmmaFamily() {
  static const KernelFamily family = {
      [](const target::Target &target) { return target.hasWgmma; },
      wgmmaPartition(),
      {/*productsInTmem=*/false, /*copiesAtUse=*/true, productRows,
       /*columnStep=*/8},
      distributeWgmma,
      productOfWgmma,
      copiesOfWgmma};
  return family;
}
