//===- RegisterPool.cpp - setmaxnreg --------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, setmaxnreg. Values are unaffected; only the register counts of the
// pool are tracked.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "fmha/PTX/Sim/Core/Machine/Machine.h"
#include "fmha/PTX/Sim/Core/Program/Program.h"

namespace ptxsim {
namespace {

constexpr uint64_t registersPerSm = 65536;

/// Registers that each warp holds, and registers that are free, in registers
/// per thread times warps.
struct RegisterPool : UnitState {
  std::vector<uint32_t> perWarp;
  uint64_t free = 0;
};

uint32_t initialRegisters(const Cta &cta) {
  for (const auto &directive : cta.machine.program.entry->function->directives)
    if (directive.name == "maxnreg" && !directive.values.empty())
      return uint32_t(directive.values[0]);
  // Without .maxnreg the assembler uses what the block size allows.
  uint64_t threads = cta.warps.size() * 32;
  return uint32_t(std::min<uint64_t>(registersPerSm / threads / 8 * 8, 255));
}

RegisterPool &poolOf(Cta &cta) {
  RegisterPool &pool = cta.states.get<RegisterPool>();
  if (pool.perWarp.empty())
    pool.perWarp.assign(cta.warps.size(), initialRegisters(cta));
  return pool;
}

struct Form {
  uint32_t registers = 0;
  bool increases = false;
};

std::string describeWait(const Warp &warp, const Wait &wait) {
  return "setmaxnreg.inc: waits for " + std::to_string(wait.data[0]) +
         " registers per thread, " + std::to_string(wait.data[1]) +
         " are free in the CTA's pool";
}

Outcome executeSet(Warp &warp, const Instruction &inst, LaneMask) {
  const Form &form = inst.data<Form>();
  RegisterPool &pool = poolOf(warp.cta);
  uint32_t &current = pool.perWarp[warp.index];
  bool wrongWay =
      form.increases ? form.registers < current : form.registers > current;
  if (wrongWay) {
    warp.machine.report.add(FindingId::SetmaxnregPool, warp.site(inst),
                            "the warp has " + std::to_string(current) +
                                " registers, expected at " +
                                (form.increases ? "most " : "least ") +
                                std::to_string(form.registers));
    return Outcome::Next;
  }
  if (!form.increases) {
    pool.free += current - form.registers;
    current = form.registers;
    warp.cluster.notify(&pool);
    return Outcome::Next;
  }
  uint32_t wanted = form.registers - current;
  if (wanted > pool.free) {
    warp.wait = {};
    warp.wait.key = &pool;
    warp.wait.data[0] = wanted;
    warp.wait.data[1] = pool.free;
    warp.wait.describe = describeWait;
    return Outcome::Retry;
  }
  pool.free -= wanted;
  current = form.registers;
  return Outcome::Next;
}

void decodeSet(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"inc", "dec", "sync", "aligned", "u32"});
  decoder.expectOperands(1, 1);
  Form form{uint32_t(decoder.immediate(0)), decoder.has("inc")};
  if (form.registers < 24 || form.registers > 256 || form.registers % 8)
    decoder.unsupported("expected a multiple of 8 in 24 .. 256, got " +
                        std::to_string(form.registers));
  inst.payload = decoder.payload(form);
  inst.convergence = Convergence::Aligned;
  inst.handler = executeSet;
}

} // namespace

void registerRegisterPool(Registry &registry) {
  registry.add("setmaxnreg", decodeSet);
}

} // namespace ptxsim
