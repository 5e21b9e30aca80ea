//===- Deadlock.cpp - The wait-for graph of a cluster ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Deadlock.h"

#include "Machine/Handlers.h"
#include "Trace.h"

#include <algorithm>
#include <cstdio>

using namespace ptxsim;

std::string ptxsim::nameOf(const Warp &warp) {
  const Dim3 &cta = warp.cta.id;
  return "cta " + std::to_string(cta.x) + "," + std::to_string(cta.y) + "," +
         std::to_string(cta.z) + " warp " + std::to_string(warp.index);
}

std::string ptxsim::sharedName(const Machine &machine, uint32_t address) {
  const SharedVariable *dynamic = nullptr;
  auto withOffset = [](std::string_view name, uint32_t offset) {
    return std::string(name) + (offset ? "+" + std::to_string(offset) : "");
  };
  for (const SharedVariable &variable : machine.program.sharedVariables) {
    if (variable.dynamic)
      dynamic = &variable;
    else if (address - variable.address < variable.bytes)
      return withOffset(variable.name, address - variable.address);
  }
  if (dynamic && address >= machine.dynamicBegin)
    return withOffset(dynamic->name, address - machine.dynamicBegin) +
           " (dynamic shared memory)";
  char text[32];
  std::snprintf(text, sizeof text, "shared 0x%x", address);
  return text;
}

namespace {

/// Opcodes that may complete an object of a kind.
struct Completer {
  std::string_view kind, prefix;
};
constexpr Completer completers[] = {
    {"mbarrier", "mbarrier.arrive"},
    {"mbarrier", "mbarrier.complete_tx"},
    {"mbarrier", "tcgen05.commit"},
    {"mbarrier", "cp.async.mbarrier.arrive"},
    {"mbarrier", "cp.async.bulk"},
    {"mbarrier", "clusterlaunchcontrol.try_cancel"},
    {"mbarrier", "cp.reduce.async.bulk"},
    {"barrier", "bar."},
    {"barrier", "barrier."},
    {"cluster barrier", "barrier.cluster.arrive"},
    {"tensor memory", "tcgen05.dealloc"},
};

bool mayComplete(std::string_view kind, std::string_view opcode) {
  if (kind == "barrier" && opcode.starts_with("barrier.cluster"))
    return false;
  // A bulk copy completes an mbarrier only if its opcode names it.
  if (opcode.find("bulk") != opcode.npos &&
      opcode.find("mbarrier") == opcode.npos)
    return false;
  return std::any_of(std::begin(completers), std::end(completers),
                     [&](const Completer &completer) {
                       return completer.kind == kind &&
                              opcode.starts_with(completer.prefix);
                     });
}

/// The instructions that a warp may still execute: everything reachable from
/// its program counters in the control-flow graph, regardless of register
/// values.
class Ahead {
public:
  explicit Ahead(const Warp &warp) : program(warp.machine.program) {
    for (const Path &path : warp.paths)
      begin(path);
    followAll();
  }
  Ahead(const Warp &warp, const Path &path) : program(warp.machine.program) {
    begin(path);
    followAll();
  }
  std::vector<const Instruction *> instructions;

private:
  void begin(const Path &path) {
    for (const Frame &frame : path.frames)
      if (&frame != &path.frames.front())
        add(*(&frame - 1)->code, frame.returnPc);
    add(*path.frames.back().code, path.pc);
  }
  void followAll() {
    while (!work.empty()) {
      auto [code, pc] = work.back();
      work.pop_back();
      follow(*code, pc);
    }
  }
  void add(const Code &code, uint32_t pc) {
    std::vector<bool> &seen = visited[&code];
    seen.resize(code.instructions.size());
    if (pc >= seen.size() || seen[pc])
      return;
    seen[pc] = true;
    instructions.push_back(&code.instructions[pc]);
    work.push_back({&code, pc});
  }
  void follow(const Code &code, uint32_t pc);
  const Program &program;
  std::map<const Code *, std::vector<bool>> visited;
  std::vector<std::pair<const Code *, uint32_t>> work;
};

void Ahead::follow(const Code &code, uint32_t pc) {
  const Instruction &inst = code.instructions[pc];
  bool branches = inst.handler == executeBranch;
  bool leaves = inst.handler == executeRet || inst.handler == executeExit ||
                inst.handler == executeBranchMany;
  if (!(branches || leaves) || inst.guard.valid())
    add(code, pc + 1);
  if (branches)
    add(code, inst.target);
  if (inst.handler == executeBranchMany)
    for (uint32_t target : inst.data<BranchTargets>().pcs)
      add(code, target);
  if (inst.handler != executeCall)
    return;
  if (const Code *callee = inst.data<CallData>().callee)
    return add(*callee, 0);
  for (const Code *callee : program.functionTable)
    add(*callee, 0);
}

/// Returns true if an mbarrier instruction is known to name another barrier:
/// its address is a constant and differs from the object's.
bool namesAnother(const Warp &warp, const Instruction &inst,
                  const WaitObject &object) {
  const Operand &base = inst.address.base;
  if (object.kind != "mbarrier" || !inst.opcode.starts_with("mbarrier.") ||
      !base.valid() || !base.isConstant())
    return false;
  uint64_t address = warp.machine.constantRows[warp.cta.rank][base.index()][0] +
                     uint64_t(inst.address.offset);
  return (address & 0xFFFFFF) != object.address.value_or(0);
}

/// Returns the lines at which a warp sleeps, for "blocked at line 9".
std::string blockedText(const Warp &warp) {
  std::string text;
  for (const Path &path : warp.paths)
    if (path.status == Path::Status::Waiting)
      text += (text.empty() ? " (blocked at line " : ", ") +
              std::to_string(path.wait.inst->line);
  return text.empty() ? text : text + ")";
}

void findCompleters(const Cluster &cluster, WaitObject &object) {
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps) {
      std::map<uint32_t, std::string_view> lines;
      for (const Instruction *inst : Ahead(*warp).instructions)
        if (!warp->finished() && mayComplete(object.kind, inst->opcode) &&
            !namesAnother(*warp, *inst, object))
          lines.emplace(inst->line, inst->opcode);
      std::string text;
      for (auto [line, opcode] : lines)
        text += (text.empty() ? ": " : ", ") + std::string(opcode) +
                " at line " + std::to_string(line);
      if (!text.empty())
        object.couldComplete.push_back(nameOf(*warp) + text +
                                       blockedText(*warp));
    }
}

/// Returns the index of the object of a wait: one object per key.
int objectOf(const Warp &warp, const Wait &wait,
             std::map<const void *, int> &known, DeadlockReport &report) {
  auto [found, fresh] = known.insert({wait.key, int(report.objects.size())});
  if (!fresh)
    return found->second;
  WaitObject object;
  object.kind = "other";
  object.cta = warp.cta.id;
  object.name = wait.inst->opcode;
  if (wait.explain)
    wait.explain(warp, wait, object);
  findCompleters(warp.cluster, object);
  report.objects.push_back(std::move(object));
  return found->second;
}

std::string hexLanes(LaneMask lanes) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", lanes);
  return text;
}

std::string waitsText(const Warp &warp, const Path &path) {
  switch (path.status) {
  case Path::Status::Waiting:
    return path.wait.describe ? path.wait.describe(warp, path.wait) : "waits";
  case Path::Status::AtReconvergence:
    return "waits for the other side of a branch";
  case Path::Status::Gathering:
    return "waits for lanes " + hexLanes(path.missing) + " of its warp";
  case Path::Status::Ready:
    break;
  }
  return "runs";
}

BlockedPath describePath(const Warp &warp, const Path &path) {
  BlockedPath blocked;
  blocked.cta = warp.cta.id;
  blocked.warp = warp.index;
  blocked.lanes = path.mask;
  const auto &code = path.frames.back().code->instructions;
  const Instruction *inst = path.pc < code.size() ? &code[path.pc] : nullptr;
  if (path.status == Path::Status::Waiting)
    inst = path.wait.inst;
  if (inst) {
    blocked.ptxLine = inst->line;
    blocked.instruction = textOf(warp.machine.program, *inst);
  }
  blocked.waits = waitsText(warp, path);
  if (std::optional<MissedPhase> missed = missedBy(warp, path))
    blocked.overrun = std::move(missed->facts);
  return blocked;
}

} // namespace

std::optional<MissedPhase> ptxsim::missedBy(const Warp &warp,
                                            const Path &path) {
  if (path.status != Path::Status::Waiting || !path.wait.missed)
    return std::nullopt;
  return path.wait.missed(warp, path.wait);
}

bool ptxsim::mayReach(const Warp &warp, const Path &path,
                      const Instruction &inst) {
  const auto ahead = Ahead(warp, path).instructions;
  return std::find(ahead.begin(), ahead.end(), &inst) != ahead.end();
}

DeadlockReport ptxsim::explainDeadlock(const Cluster &cluster) {
  DeadlockReport report;
  std::map<const void *, int> known;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps) {
      if (warp->finished())
        report.exitedWarps.push_back(nameOf(*warp));
      for (const Path &path : warp->paths) {
        report.paths.push_back(describePath(*warp, path));
        if (path.status == Path::Status::Waiting && path.wait.key)
          report.paths.back().object =
              objectOf(*warp, path.wait, known, report);
      }
    }
  for (const auto &[number, op] : cluster.inFlight())
    report.inFlight.push_back(op->describe());
  return report;
}
