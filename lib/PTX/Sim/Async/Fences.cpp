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

/// Does nothing: the interpreter executes memory operations in order, so a
/// fence matters only to the race detector.
Outcome executeOrdering(Warp &, const Instruction &, LaneMask) {
  return Outcome::Next;
}

struct ProxyForm {
  bool shared = true, global = true;
};

Outcome executeProxyAsync(Warp &warp, const Instruction &inst,
                          LaneMask active) {
  const ProxyForm &form = inst.data<ProxyForm>();
  if (Races *races = racesOf(warp))
    races->edges.proxyFence(warp, active, form.shared, form.global);
  return Outcome::Next;
}

void decodeProxyAsync(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(
      {"proxy", "async", "global", "shared::cta", "shared::cluster"});
  decoder.expectOperands(0, 0);
  bool shared = decoder.has("shared::cta") || decoder.has("shared::cluster");
  ProxyForm form;
  if (shared || decoder.has("global"))
    form = {shared, decoder.has("global")};
  inst.payload = decoder.payload(form);
  inst.handler = executeProxyAsync;
}

void decodeProxy(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(0, 2);
  inst.handler = executeOrdering;
}

/// Decodes fence.proxy.async::generic: one direction, shared memory only.
void decodeProxyOneWay(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(0, 0);
  inst.payload = decoder.payload(ProxyForm{true, false});
  inst.handler = executeProxyAsync;
}

Outcome executeInitFence(Warp &warp, const Instruction &, LaneMask active) {
  if (Races *races = racesOf(warp))
    races->edges.barrierInitFence(warp, active);
  return Outcome::Next;
}

void decodeInitFence(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"mbarrier_init", "release", "cluster"});
  decoder.expectOperands(0, 0);
  inst.handler = executeInitFence;
}

} // namespace

void registerFences(Registry &registry) {
  registry.add("fence.mbarrier_init", decodeInitFence);
  registry.add("fence.proxy", decodeProxy);
  registry.add("fence.proxy.async", decodeProxyAsync);
  registry.add("fence.proxy.async::generic", decodeProxyOneWay);
}

} // namespace ptxsim
