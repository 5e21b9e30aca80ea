//===- Lists.h - Vectors that a kernel reads or writes ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_LISTS_H
#define FMHA_SCHEDULE_MODEL_LISTS_H

#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::schedule {

/// A vector of 32-bit elements in memory that a kernel reads, or a contiguous
/// tensor with one row per sequence, of rank 2, or per query, of rank 3, or a
/// tensor of the blocks of query rows, of rank 3 or 4. Its
/// name is that of the op's operand, of the kernel's parameter, and of the fact
/// in `fmha.problem` and in the launch manifest.
struct ListField {
  const char *name;
  bool isFloat;
  bool Facts::*there;
  unsigned rank = 1;
  /// Whether it is an operand of the clause `blocks`.
  bool isOfBlocks = false;
};

/// In the order of a kernel's operands.
inline constexpr ListField listFields[] = {
#define FMHA_LIST(member, name, ...) {name, false, &Facts::member},
#define FMHA_TABLE(member, name, ...) {name, false, &Facts::member, 2},
#define FMHA_QUERY_TABLE(member, name, ...) {name, false, &Facts::member, 3},
#define FMHA_BLOCK_COUNTS(member, name, ...)                                   \
  {name, false, &Facts::member, 3, true},
#define FMHA_BLOCK_LISTS(member, name, ...)                                    \
  {name, false, &Facts::member, 4, true},
#define FMHA_FLOAT_LIST(member, name, ...) {name, true, &Facts::member},
#include "fmha/Schedule/Model/Facts.def"
};

/// Returns whether the elements of that list are f32; false for other names.
constexpr bool isFloatList(std::string_view name) {
  for (const ListField &list : listFields)
    if (name == list.name)
      return list.isFloat;
  return false;
}

/// A tensor of one f32 per row that a kernel writes, [batch, q_heads, q_len].
/// Its name is that of the op's operand, of the kernel's parameter, and, with
/// `_stride_batch`, `_stride_head` and `_stride_row`, of the strides.
struct RowField {
  const char *name;
  bool Facts::*there;
};

/// In the order of the op's destinations and of a kernel's operands.
inline constexpr RowField rowFields[] = {
#define FMHA_ROW(member, name, ...) {name, &Facts::member},
#include "fmha/Schedule/Model/Facts.def"
};
inline constexpr const char *rowStrides[] = {"_stride_batch", "_stride_head",
                                             "_stride_row"};
/// The strides of q, k, v or o, where it has no tensor map.
inline constexpr const char *outputStrides[] = {"_stride_batch", "_stride_row",
                                                "_stride_head"};

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_LISTS_H
