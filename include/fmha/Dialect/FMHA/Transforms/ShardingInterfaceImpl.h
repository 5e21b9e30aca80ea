//===- ShardingInterfaceImpl.h - Shard fmha.attention -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_TRANSFORMS_SHARDINGINTERFACEIMPL_H
#define FMHA_DIALECT_FMHA_TRANSFORMS_SHARDINGINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fmha {
/// Lets upstream's sharding-propagation and shard-partition shard
/// fmha.attention over a grid of processes: the batch, heads (query heads go
/// with their KV heads; a single KV head stays whole), query rows, and keys.
///
/// If keys are sharded, each process computes the partial result of its keys
/// (`unnormalised`, `row_max`, `row_sum`), the partial results of all processes
/// are gathered, and fmha.merge combines them:
///
///   %o = fmha.attention ins(%q, %k, %v) outs(%out)    // keys on grid axis 0
///   // becomes
///   %po, %pm, %ps = fmha.attention ins(%q, %k_own, %v_own) ... {unnormalised}
///   %go = shard.all_gather %po on @grid grid_axes = [0] gather_axis = 0 ...
///   %o = fmha.merge ins(%go, %gm, %gs) outs(%out)
///
/// Masks and the score region get the offsets of a process' rows and keys as
/// they do in tiles (TilingInterfaceImpl.h).
void registerShardingInterfaceExternalModels(mlir::DialectRegistry &registry);
} // namespace fmha

#endif // FMHA_DIALECT_FMHA_TRANSFORMS_SHARDINGINTERFACEIMPL_H
