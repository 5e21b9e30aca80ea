//===- Misc.cpp - Fences, hints and the rest --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The machine is sequentially consistent, so generic fences have no effect on
// memory, and hints change no result.
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"

#include "fmha/PTX/Sim/Core/Races/Races.h"

using namespace ptxsim;

namespace {

Outcome executeNothing(Warp &, const Instruction &, LaneMask) {
  return Outcome::Next;
}

/// Decodes an instruction without effect. Values of operands are ignored, but
/// an address must be well formed.
void decodeNothing(Decoder &decoder, Instruction &inst) {
  for (size_t i = 0; i < decoder.size(); ++i)
    if (decoder.operand(i).kind == syntax::Operand::Kind::Address)
      decoder.address(i, Space::Generic);
  inst.handler = executeNothing;
}

Outcome executeFence(Warp &warp, const Instruction &inst, LaneMask active) {
  if (Races *races = racesOf(warp))
    races->edges.fence(warp, active, inst.order);
  return Outcome::Next;
}

/// Decodes a fence, which matters only to the race detector: the interpreter
/// executes memory operations in order.
void decodeFence(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(
      {"acq_rel", "acquire", "release", "sc", "cta", "gl", "cluster", "gpu",
       "sys", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  decoder.expectOperands(0, 0);
  inst.order = decoder.ordering({race::Scope::Gpu, true, true});
  inst.handler = executeFence;
}

void decodeAliasFence(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"proxy", "alias"});
  decoder.expectOperands(0, 0);
  inst.handler = executeNothing;
}

/// Grids run one after another, so the wait matters only to the race detector.
Outcome executeGridWait(Warp &warp, const Instruction &, LaneMask) {
  if (Races *races = racesOf(warp))
    races->edges.waitForGrids(warp);
  return Outcome::Next;
}

/// Decodes griddepcontrol. Accesses of a dependent grid are unordered with
/// those of this one wherever launch_dependents is, which is thus a hint.
void decodeGridControl(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"wait", "launch_dependents"});
  decoder.expectOperands(0, 0);
  if (decoder.has("wait") == decoder.has("launch_dependents"))
    decoder.unsupported("expected .wait or .launch_dependents");
  inst.handler = decoder.has("wait") ? executeGridWait : executeNothing;
}

Outcome executeYield(Warp &, const Instruction &, LaneMask) {
  return Outcome::Yield;
}

void decodeNanosleep(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"u32"});
  decoder.expectOperands(1, 1);
  decoder.expectType(0, Type::U32);
  inst.handler = executeYield;
}

/// Ends the kernel, as a breakpoint does without a debugger.
Outcome executeBreakpoint(Warp &warp, const Instruction &inst,
                          LaneMask active) {
  return executeTrap(warp, inst, active);
}

void decodeBreakpoint(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(0, 0);
  inst.handler = executeBreakpoint;
}

/// Writes a fixed cache policy: policies are opaque and only passed to hints.
Outcome executePolicy(Warp &warp, const Instruction &inst, LaneMask active) {
  Row &row = warp.row(inst.dst[0]);
  eachLane(active, [&](unsigned lane) { row[lane] = 0x12F0000000000000ull; });
  return Outcome::Next;
}

void decodePolicy(Decoder &decoder, Instruction &inst) {
  inst.dst = decoder.destinations(0, Type::U64);
  if (decoder.has("range"))
    decoder.address(1, Space::Generic);
  // cvt takes a policy; the other form takes the two sizes of a range.
  if (decoder.has("cvt"))
    decoder.expectType(1, Type::U64);
  for (size_t i = 2; decoder.has("range") && i < decoder.size(); ++i)
    decoder.expectType(i, Type::U32);
  inst.handler = executePolicy;
}

} // namespace

void ptxsim::registerMisc(Registry &registry) {
  for (std::string_view hint :
       {"fence.mbarrier_init", "fence.proxy", "prefetch", "prefetchu",
        "applypriority", "discard", "pmevent"})
    registry.add(hint, decodeNothing);
  registry.add("membar", decodeFence);
  registry.add("membar.proxy", decodeAliasFence);
  registry.add("fence", decodeFence);
  registry.add("griddepcontrol", decodeGridControl);
  registry.add("nanosleep", decodeNanosleep);
  registry.add("brkpt", decodeBreakpoint);
  registry.add("createpolicy", decodePolicy);
}

void ptxsim::registerCore(Registry &registry) {
  registerMove(registry);
  registerLoadStore(registry);
  registerAtomics(registry);
  registerCollectives(registry);
  registerBarriers(registry);
  registerMatrix(registry);
  registerMisc(registry);
}
