//===- TraceBarriers.h - The barriers of a kernel, by number ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEBARRIERS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEBARRIERS_H

#include "KernelTrace.h"

namespace fmha::tile {

/// Barriers of a channel, by number; `free` is `none` if it has none.
struct ChannelBarriers {
  uint32_t full, free, depth, index;
  ChannelOp op;
};

/// Declares barriers and channels, and stores their numbers.
class TraceBarriers {
public:
  explicit TraceBarriers(TracedKernel &kernel) : kernel(kernel) {}

  void declare(BarrierOp op);
  /// Declares the channels of `func`, and the barriers that they will become.
  mlir::LogicalResult declareChannels(mlir::gpu::GPUFuncOp func);

  /// Returns the number of the first stage's barrier, and the number of stages.
  std::pair<uint32_t, uint32_t> of(mlir::Value barrier) const {
    return barriers.lookup(barrier);
  }
  const ChannelBarriers &ofChannel(mlir::Value channel) const {
    return channels.find(channel)->second;
  }

private:
  void declareStages(llvm::StringRef name, unsigned count, unsigned arrivals,
                     bool ready);
  ChannelBarriers declareChannel(ChannelOp op);

  TracedKernel &kernel;
  llvm::DenseMap<mlir::Value, std::pair<uint32_t, uint32_t>> barriers;
  llvm::DenseMap<mlir::Value, ChannelBarriers> channels;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEBARRIERS_H
