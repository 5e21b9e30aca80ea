//===- Video.cpp - Video instructions (PTX 9.7.17) ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

PTX_SCALAR_BEGIN

void registerVideo(Registry &r) {}

PTX_SCALAR_END
