//===- Target.cpp - What is known of each GPU -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Target/Target.h"

using namespace fmha::target;

#define GET_Targets_IMPL
#include "fmha/Target/Targets.inc"

const Target *fmha::target::findTarget(std::string_view name) {
  for (const Target &target : Targets)
    if (name == target.name)
      return &target;
  return nullptr;
}

std::vector<std::string> fmha::target::names(bool supported) {
  std::vector<std::string> result, others;
  for (const Target &target : Targets)
    (target.supported ? result : others).push_back(target.name);
  if (!supported)
    result.insert(result.end(), others.begin(), others.end());
  return result;
}

std::string fmha::target::supportedNames() {
  std::string text;
  for (const std::string &name : names(/*supported=*/true))
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string fmha::target::hint(std::string_view name) {
  std::string plain(name.substr(0, name.find_last_of("0123456789") + 1));
  for (const std::string &other : {plain + "a", plain}) {
    const Target *found = findTarget(other);
    if (other != name && found && found->supported)
      return "; did you mean " + other + "?";
  }
  return "";
}
