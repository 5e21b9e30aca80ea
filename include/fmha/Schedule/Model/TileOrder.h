//===- TileOrder.h - The order of the output tiles of a launch --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_TILEORDER_H
#define FMHA_SCHEDULE_MODEL_TILEORDER_H

#include <cstdint>

namespace fmha::schedule {

struct Schedule;

/// Returns the largest size of K and V of a section of heads, whose tiles are
/// computed one after the other, the longest ones first; 0 if each head has all
/// of its tiles in a row.
uint64_t sectionBytes(const Schedule &schedule);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_TILEORDER_H
