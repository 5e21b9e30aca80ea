//===- KernelFamily.cpp - The list of kernel families ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/KernelFamily.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
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

LogicalResult tile::checkTakesPrograms(gpu::GPUFuncOp func, StringRef target) {
  auto hasOneRole = [](StringRef name) {
    schedule::Schedule of;
    of.target = name.str();
    return partitionFamilyOf(of).hasOneRole;
  };
  if (!hasOneRole(target))
    return success();
  std::vector<std::string> others = target::names(/*supported=*/true);
  llvm::erase_if(others, hasOneRole);
  return func.emitError()
         << "expected a target for programs of tile ops, one of "
         << llvm::join(others, ", ") << ", got " << target
         << ", whose kernels have one role and need an fmha.attention; name "
            "one of these in tile.kernel";
}
