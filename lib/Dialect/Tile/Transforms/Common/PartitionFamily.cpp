//===- PartitionFamily.cpp - Roles of a kernel family ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/PartitionFamily.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace fmha;
using namespace fmha::tile;

const RoleRule *PartitionFamily::findRole(llvm::StringRef name) const {
  const RoleRule *found = llvm::find_if(roles, [&](const RoleRule &rule) {
    llvm::StringRef number = name;
    return number.consume_front(rule.name) &&
           (number.empty() ||
            (rule.perInstance && llvm::all_of(number, llvm::isDigit)));
  });
  return found == roles.end() ? nullptr : found;
}
