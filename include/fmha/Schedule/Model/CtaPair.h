//===- CtaPair.h - CTAs that share their products ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_CTAPAIR_H
#define FMHA_SCHEDULE_MODEL_CTAPAIR_H

namespace fmha::schedule {

/// The CTAs of a pair, which is the largest cta_group of tcgen05.
inline constexpr unsigned ctasOfPair = 2;

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_CTAPAIR_H
