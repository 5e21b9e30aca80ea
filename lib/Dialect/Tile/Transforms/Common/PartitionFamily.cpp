//===- PartitionFamily.cpp - Roles of a kernel family ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/PartitionFamily.h"
#include "fmha/Target/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace fmha;
using namespace fmha::tile;

bool RoleRule::isNamed(llvm::StringRef role, llvm::StringRef name) const {
  return !name.empty() && role.consume_front(name) &&
         (role.empty() || (perInstance && llvm::all_of(role, llvm::isDigit)));
}

const RoleRule *PartitionFamily::findRole(llvm::StringRef name) const {
  const RoleRule *found = llvm::find_if(roles, [&](const RoleRule &rule) {
    return rule.isNamed(name, rule.name) ||
           rule.isNamed(name, rule.programName);
  });
  return found == roles.end() ? nullptr : found;
}

std::vector<schedule::Role>
tile::layOutRoles(const PartitionFamily &family,
                  llvm::ArrayRef<llvm::StringRef> names) {
  constexpr unsigned group = target::warpgroupWarps;
  std::vector<schedule::Role> roles;
  unsigned warp = 0;
  auto add = [&](llvm::StringRef name, unsigned warps) {
    roles.push_back({name.str(), warp, warps, 0});
    warp += warps;
  };
  auto isSingle = [&](llvm::StringRef name) {
    return family.findRole(name)->singleThread;
  };
  for (llvm::StringRef name : names)
    if (isSingle(name))
      add(name, 1);
  if (unsigned used = warp % group)
    add("spare", group - used);
  for (llvm::StringRef name : names)
    if (!isSingle(name))
      add(name, group);
  for (schedule::Role &role : roles)
    role.registers = schedule::registersAtLaunch(warp * target::warpThreads);
  return roles;
}
