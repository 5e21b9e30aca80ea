//===- Fences.cpp - Fences between proxies and scopes ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, membar, fence, fence.proxy, fence.mbarrier_init.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "SharedAccess.h"

namespace ptxsim {
namespace {

/// The interpreter runs memory operations in order, so fences order nothing
/// here; what a proxy fence cleans is for the checks.
Outcome executeOrdering(Warp &, const Instruction &, LaneMask) {
  return Outcome::Next;
}

/// The thread's own earlier generic writes become visible to the async proxy.
Outcome executeProxyAsync(Warp &warp, const Instruction &inst,
                          LaneMask active) {
  std::vector<uint16_t> &fences = warp.cta.proxyFences;
  forLanes(active, [&](unsigned lane) {
    size_t thread = warp.index * 32 + lane;
    if (thread < fences.size())
      ++fences[thread];
  });
  return Outcome::Next;
}

void decodeProxyAsync(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(
      {"proxy", "async", "global", "shared::cta", "shared::cluster"});
  decoder.expectOperands(0, 0);
  bool shared = !decoder.has("global");
  inst.handler = shared ? executeProxyAsync : executeOrdering;
}

void decodeProxy(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(0, 2);
  inst.handler = executeOrdering;
}

void decodeOrdering(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"acq_rel", "acquire", "release", "sc", "cta",
                           "cluster", "gpu", "sys", "mbarrier_init",
                           "sync_restrict::shared::cta",
                           "sync_restrict::shared::cluster"});
  decoder.expectOperands(0, 0);
  inst.handler = executeOrdering;
}

} // namespace

void registerFences(Registry &registry) {
  registry.add("fence", decodeOrdering);
  registry.add("fence.mbarrier_init", decodeOrdering);
  registry.add("fence.proxy", decodeProxy);
  registry.add("fence.proxy.async", decodeProxyAsync);
}

} // namespace ptxsim
