//===- Ordering.h - Memory order of one instruction -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_RACE_ORDERING_H
#define FMHA_PTX_SIM_RACE_ORDERING_H

#include <cstdint>

namespace ptxsim::race {

/// How far a strong operation reaches; Weak is no strong operation. .sys counts
/// as Gpu: there is one device.
enum class Scope : uint8_t { Weak, Cta, Cluster, Gpu };

struct Ordering {
  Scope scope = Scope::Weak;
  bool acquires = false, releases = false;
  /// Of the vector that is accessed so.
  uint8_t elements = 1;
};

} // namespace ptxsim::race

#endif // FMHA_PTX_SIM_RACE_ORDERING_H
