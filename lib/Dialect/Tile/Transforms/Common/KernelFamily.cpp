//===- KernelFamily.cpp - The list of kernel families ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/KernelFamily.h"

using namespace fmha;
using namespace fmha::tile;

const KernelFamily &tile::familyOf(const schedule::Schedule &schedule) {
  static const KernelFamily *const families[] = {
      &tcgen05Family(), &wgmmaFamily(), &mmaSyncFamily()};
  const target::Target *target = target::findTarget(schedule.target);
  for (const KernelFamily *family : families)
    if (target && family->serves(*target))
      return *family;
  // The rules of a schedule report a target without a family.
  return *families[0];
}

const PartitionFamily &
tile::partitionFamilyOf(const schedule::Schedule &schedule) {
  return familyOf(schedule).partition;
}
