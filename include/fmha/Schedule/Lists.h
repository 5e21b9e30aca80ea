//===- Lists.h - Lists that a kernel reads beside its tensors ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_LISTS_H
#define FMHA_SCHEDULE_LISTS_H

#include "fmha/Schedule/Schedule.h"

namespace fmha::schedule {

/// A list of 32-bit numbers in memory. Its name is that of the op's operand, of
/// the kernel's parameter, and of the field of `fmha.problem` and of the launch
/// manifest which says that there is one.
struct ListField {
  const char *name;
  bool isFloat;
  bool Problem::*there;
};

/// In the order of a kernel's operands.
inline constexpr ListField listFields[] = {
    {"kv_lens", false, &Problem::kvLens},
    {"cu_seqlens_q", false, &Problem::cuSeqlensQ},
    {"cu_seqlens_k", false, &Problem::cuSeqlensK},
    {"sink", true, &Problem::sink},
    {"source2_lens", false, &Problem::source2Lens}};

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_LISTS_H
