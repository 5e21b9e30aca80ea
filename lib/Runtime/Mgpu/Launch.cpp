//===- Launch.cpp - Launches of kernels -----------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Modules.h"
#include "fmha/Runtime/Driver/Attributes.h"

using namespace fmha::runtime;
using namespace fmha::runtime::mgpu;

namespace {

struct Extents {
  intptr_t x, y, z;
  std::string text() const {
    return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " +
           std::to_string(z) + ")";
  }
};

/// Converts extents to the driver's type, or fails if they do not fit.
void narrow(const char *what, const Extents &from, uint32_t (&to)[3]) {
  const intptr_t values[3] = {from.x, from.y, from.z};
  for (int i = 0; i < 3; ++i) {
    if (values[i] < 0 || values[i] > intptr_t(UINT32_MAX))
      fail(std::string("launch of a kernel: expected a ") + what +
           " of extents from 0 to 2^32 - 1, got " + from.text());
    to[i] = uint32_t(values[i]);
  }
}

void launch(void *handle, const Extents *cluster, const Extents &grid,
            const Extents &block, int32_t smem, void *stream, void **params,
            void **extra) {
  constexpr uint64_t portableCluster = 8;
  const driver::Calls &calls = enter();
  auto function = static_cast<driver::Function>(handle);
  driver::LaunchConfig config = {};
  driver::LaunchAttributes attributes;
  narrow("grid", grid, config.grid);
  narrow("block", block, config.block);
  if (!config.grid[0] || !config.grid[1] || !config.grid[2])
    return;
  if (cluster) {
    uint32_t extents[3];
    narrow("cluster", *cluster, extents);
    attributes.addCluster(extents);
    if (uint64_t(extents[0]) * extents[1] * extents[2] > portableCluster)
      check("cuFuncSetAttribute",
            calls.functionSetAttribute(
                function, driver::functionNonPortableClusterAllowed, 1));
  }
  if (isProgrammatic(function))
    attributes.addProgrammatic();
  attributes.setOn(config);
  allowSharedMemory(function, smem);
  config.dynamicSmemBytes = uint32_t(smem);
  config.stream = static_cast<driver::Stream>(stream);
  driver::Result result = calls.launchKernel(&config, function, params, extra);
  if (result != driver::success)
    check("cuLaunchKernelEx", result,
          "grid " + grid.text() + ", block " + block.text() + ", " +
              std::to_string(smem) + " bytes of dynamic shared memory" +
              (cluster ? ", cluster " + cluster->text() : ""));
}

} // namespace

void mgpuLaunchKernel(void *function, intptr_t gridX, intptr_t gridY,
                      intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                      intptr_t blockZ, int32_t smem, void *stream,
                      void **params, void **extra, size_t) {
  launch(function, nullptr, {gridX, gridY, gridZ}, {blockX, blockY, blockZ},
         smem, stream, params, extra);
}

void mgpuLaunchClusterKernel(void *function, intptr_t clusterX,
                             intptr_t clusterY, intptr_t clusterZ,
                             intptr_t gridX, intptr_t gridY, intptr_t gridZ,
                             intptr_t blockX, intptr_t blockY, intptr_t blockZ,
                             int32_t smem, void *stream, void **params,
                             void **extra, size_t) {
  Extents cluster{clusterX, clusterY, clusterZ};
  launch(function, &cluster, {gridX, gridY, gridZ}, {blockX, blockY, blockZ},
         smem, stream, params, extra);
}
