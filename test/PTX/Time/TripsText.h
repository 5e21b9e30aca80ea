//===- TripsText.h - Trips files of tests -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_TIME_TRIPSTEXT_H
#define FMHA_TEST_PTX_TIME_TRIPSTEXT_H

#include "fmha/PTX/Sim/Simulator.h"
#include "fmha/PTX/Time/Trips.h"

namespace ptxsim::timing::test {

/// Returns the error of a file, "none" without one.
inline std::string errorOf(std::string_view json,
                           const std::map<std::string, int64_t> &given = {}) {
  try {
    readTrips(json, given);
  } catch (const Error &error) {
    return error.what();
  }
  return "none";
}

/// Returns a file of one role of warp 0 with these members.
inline std::string fileOf(const std::string &members) {
  return R"({"roles": [{"name": "all", "warps": "0"}])" +
         (members.empty() ? "" : ", " + members) + "}";
}

} // namespace ptxsim::timing::test

#endif // FMHA_TEST_PTX_TIME_TRIPSTEXT_H
