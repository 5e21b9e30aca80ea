//===- CheckedMaps.h - Memory maps of schedules -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_ATTRIBUTES_CHECKEDMAPS_H
#define FMHA_LIB_DIALECT_FMHA_ATTRIBUTES_CHECKEDMAPS_H

#include "fmha/Schedule/Model/Schedule.h"

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <mutex>

namespace fmha {

/// Memory maps of problems and schedules, of one context.
struct CheckedMaps {
  std::mutex mutex;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>,
                 std::unique_ptr<const schedule::CheckedMap>>
      of;
};

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_ATTRIBUTES_CHECKEDMAPS_H
