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

/// Scope of a strong operation; Weak means that it is not strong. .sys counts
/// as Gpu: there is one device.
enum class Scope : uint8_t { Weak, Cta, Cluster, Gpu };

struct Ordering {
  Scope scope = Scope::Weak;
  bool acquires = false, releases = false;
  /// Number of elements of the accessed vector.
  uint8_t elements = 1;
};

} // namespace ptxsim::race

#endif // FMHA_PTX_SIM_RACE_ORDERING_H
