//===- Json.h - The modeled time in reports ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_TIME_JSON_H
#define FMHA_PTX_TIME_JSON_H

#include "fmha/PTX/Time/Estimate.h"

#include <nlohmann/json.hpp>

namespace ptxsim::timing {

/// Returns {clocks {low, middle, high}, front_end, bound, mma_utilisation}, the
/// modeled time of a launch; each is null if `time` is null.
nlohmann::ordered_json toJson(const Estimate *time);

} // namespace ptxsim::timing

#endif // FMHA_PTX_TIME_JSON_H
