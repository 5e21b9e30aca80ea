//===- Roles.cpp - Roles of tcgen05 kernels -------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   load         TMA loads
//   convert      loads of keys and values that threads convert, which the
//                builder assigns
//   mma          products, which accumulate in tensor memory
//   softmax<n>   arithmetic on tiles in registers, a warpgroup for each set of
//                rows
//   correction   ops on an accumulator in tensor memory
//   store        TMA stores
//
// In programs that were not made from an attention op, the roles compute<n> and
// accumulator replace softmax<n> and correction.
//
//===----------------------------------------------------------------------===//

#include "Common/PartitionFamily.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

static bool readsTensorMemory(Operation *op) {
  return !isa<MoveOp>(op) && llvm::any_of(op->getOperandTypes(), [](Type type) {
    auto tile = dyn_cast<TileType>(type);
    return tile && tile.getTmem();
  });
}

static constexpr RoleRule roles[] = {
    {"load", Agent::Tma, true, false,
     [](Operation *op) { return isa<LoadOp>(op); }},
    {"convert", Agent::Threads, false, false,
     [](Operation *) { return false; }},
    {"mma", Agent::Mma, true, false,
     [](Operation *op) { return isa<DotOp>(op); }},
    {"store", Agent::Tma, true, false,
     [](Operation *op) { return isa<StoreOp>(op); }},
    {"correction", Agent::Threads, false, false, readsTensorMemory,
     "accumulator"},
    {"softmax", Agent::Threads, false, true, [](Operation *) { return true; },
     "compute"}};

static constexpr ChannelRule channels[] = {{"KV", "load", "k", "V"},
                                           {"KV", "load", "kv"},
                                           {"V", "load", "v"},
                                           {"KV", "convert", "k", "V"},
                                           {"KV", "convert", "kv"},
                                           {"V", "convert", "v"},
                                           {"factors", "convert", "factors"},
                                           {"Q", "load", "q"},
                                           {"S", "mma", "s"},
                                           {"P", "softmax", "p"},
                                           {"stats", "softmax", "stats"},
                                           {"O", "correction", "ready"},
                                           {"O", "mma", "done"},
                                           {"out", "correction", "out"}};

const PartitionFamily &tile::tcgen05Partition() {
  static const PartitionFamily family = {roles, channels,
                                         /*laterStageFirst=*/true};
  return family;
}
