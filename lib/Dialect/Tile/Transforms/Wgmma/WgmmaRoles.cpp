//===- WgmmaRoles.cpp - Roles of wgmma kernels ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   load          TMA loads
//   gather        loads of keys and values that threads copy
//   convert       loads of keys and values that threads convert; the builder
//                 assigns loads to gather and convert
//   consumer<n>   products and all arithmetic on a set of rows, a warpgroup
//                 for each set; or, of one set, the products with some columns
//                 of O (KernelTraits::columnsOfConsumer)
//   store         TMA stores
//
//===----------------------------------------------------------------------===//

#include "Common/PartitionFamily.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

static constexpr RoleRule roles[] = {
    {"load", Agent::Tma, true, false,
     [](Operation *op) { return isa<LoadOp>(op); }},
    {"gather", Agent::CpAsync, false, false, [](Operation *) { return false; }},
    {"convert", Agent::Threads, false, false,
     [](Operation *) { return false; }},
    {"store", Agent::Tma, true, false,
     [](Operation *op) { return isa<StoreOp>(op); }},
    {"consumer", Agent::Threads, false, true,
     [](Operation *) { return true; }}};

static constexpr ChannelRule channels[] = {{"KV", "load", "kv"},
                                           {"KV", "gather", "kv"},
                                           {"factors", "convert", "factors"},
                                           {"KV", "convert", "kv"},
                                           {"Q", "load", "q"},
                                           {"P", "consumer", "p"},
                                           {"stats", "consumer", "stats"},
                                           {"out", "consumer", "out"}};

const PartitionFamily &tile::wgmmaPartition() {
  static const PartitionFamily family = {roles,
                                         channels,
                                         /*laterStageFirst=*/false,
                                         /*asyncProducts=*/true,
                                         /*releaseArrivals=*/4,
                                         /*mergesInstances=*/true};
  return family;
}
