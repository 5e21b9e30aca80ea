//===- Family.cpp - Kernels that multiply by tcgen05 ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/KernelFamily.h"
#include "Tcgen05/Tcgen05Distribute.h"

using namespace fmha;
using namespace fmha::tile;

/// M of tcgen05.mma with one CTA (PTX ISA, "tcgen05.mma", shapes).
static constexpr int64_t productRows[] = {64, 128};

const KernelFamily &tile::tcgen05Family() {
  static const KernelFamily family = {
      [](const target::Target &target) { return target.hasTcgen05; },
      tcgen05Partition(),
      {/*productsInTmem=*/true, /*copiesAtUse=*/false, productRows,
       /*columnStep=*/16},
      distributeTcgen05};
  return family;
}
