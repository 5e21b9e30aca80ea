//===- FactFlags.h - The flags of facts -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_OPTIONS_FACTFLAGS_H
#define FMHA_LIB_OPTIONS_FACTFLAGS_H

#include "fmha/Options/ProblemFlags.h"

namespace fmha::tools {

/// Calls `visit` for each fact with a flag: its name, its help, its value, and
/// the member of Problem that holds it.
template <typename Flags, typename Visit>
void forEachFlag(Flags &flags, Visit visit) {
#define FMHA_FLAG(member, name, value, ofMerge, help)                          \
  visit(name, help, flags.member, &schedule::Facts::member);
#define FMHA_ROW FMHA_FLAG
#define FMHA_SWITCH FMHA_FLAG
#define FMHA_LIST FMHA_FLAG
#define FMHA_TABLE FMHA_FLAG
#define FMHA_QUERY_TABLE FMHA_FLAG
#define FMHA_BLOCK_COUNTS FMHA_FLAG
#define FMHA_BLOCK_LISTS FMHA_FLAG
#define FMHA_FLOAT_LIST FMHA_FLAG
#include "fmha/Schedule/Model/Facts.def"
#undef FMHA_FLAG
}

} // namespace fmha::tools

#endif // FMHA_LIB_OPTIONS_FACTFLAGS_H
