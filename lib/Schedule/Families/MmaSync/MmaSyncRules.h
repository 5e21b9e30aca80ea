//===- MmaSyncRules.h - Rules of mma.sync schedules ---------------------*- C++
//-*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_FAMILIES_MMASYNC_MMASYNCRULES_H
#define FMHA_LIB_SCHEDULE_FAMILIES_MMASYNC_MMASYNCRULES_H

#include "Rules/CheckRules.h"

namespace fmha::schedule {

/// Threads of a CTA, four warps that load and multiply.
inline constexpr unsigned mmaSyncThreads = 128;
/// The only role, as tile-assign-partitions numbers it.
inline constexpr std::string_view mmaSyncRole = "consumer0";

/// Checks that S, O and P fit the registers of a thread.
Violation checkMmaSyncRegisters(const Case &c);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_FAMILIES_MMASYNC_MMASYNCRULES_H
