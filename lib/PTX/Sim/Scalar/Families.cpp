//===- Families.cpp - The families of scalar forms ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

PTX_SCALAR_BEGIN

void registerFamilies(Registry &registry) {
#define PTX_SCALAR_CALL(family) register##family(registry);
  PTX_SCALAR_HOT_FAMILIES(PTX_SCALAR_CALL)
#undef PTX_SCALAR_CALL
#define PTX_SCALAR_CALL(family) common::register##family(registry);
  PTX_SCALAR_COMMON_FAMILIES(PTX_SCALAR_CALL)
#undef PTX_SCALAR_CALL
}

PTX_SCALAR_END
