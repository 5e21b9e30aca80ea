//===- Grid.h - The grid of a launch ----------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_LAUNCH_GRID_H
#define FMHA_RUNTIME_LAUNCH_GRID_H

#include "fmha/Runtime/Launch/Manifest.h"

namespace fmha::launch {

using Grid = std::array<uint32_t, 3>;

/// Computes the output tiles for `values`, as a grid that has a CTA for each.
/// An extent of 0 means: do not launch. Returns false if an extent is above the
/// hardware's limits (2^31 - 1 in x, 65535 in y and z), with a sentence in
/// `problem`. Allocates nothing otherwise.
bool evaluateTiles(const KernelLaunch &launch, const RunValues &values,
                   Grid &grid, std::string &problem);

/// Returns how many CTAs in x compute `tiles` output tiles if at most `most`
/// run at once: whole clusters, and at least one of them.
uint32_t boundCtas(const KernelLaunch &launch, uint32_t tiles, uint32_t most);

} // namespace fmha::launch

#endif // FMHA_RUNTIME_LAUNCH_GRID_H
