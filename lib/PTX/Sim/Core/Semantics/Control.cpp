//===- Control.cpp - Branches, calls, returns -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"

#include <cstdio>
#include <cstring>

using namespace ptxsim;

Outcome ptxsim::executeBranch(Warp &warp, const Instruction &inst,
                              LaneMask active) {
  return warp.branch(inst, active, inst.target, active);
}

Outcome ptxsim::executeBranchMany(Warp &warp, const Instruction &inst,
                                  LaneMask active) {
  const BranchTargets &targets = inst.data<BranchTargets>();
  const Row &index = warp.row(inst.src[0]);
  Row pcs{};
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    if (index[lane] >= targets.pcs.size()) {
      warp.machine.fault(
          FindingId::IllegalInstruction, warp.site(inst, int(lane)),
          "expected an index below " + std::to_string(targets.pcs.size()) +
              ", got " + std::to_string(index[lane]) + ".");
      return Outcome::Fault;
    }
    pcs[lane] = targets.pcs[index[lane]];
  }
  return warp.branchMany(inst, active, pcs);
}

Outcome ptxsim::executeRet(Warp &warp, const Instruction &, LaneMask active) {
  return warp.ret(active);
}

Outcome ptxsim::executeExit(Warp &warp, const Instruction &, LaneMask active) {
  return warp.exitLanes(active);
}

Outcome ptxsim::executeTrap(Warp &warp, const Instruction &inst,
                            LaneMask active) {
  int lane = std::countr_zero(active);
  warp.machine.fault(FindingId::Trap, warp.site(inst, lane),
                     "lane " + std::to_string(lane) + " got here.");
  return Outcome::Fault;
}

/// Returns a zero-terminated string of the program, truncated at 4096 bytes.
static std::string readString(Warp &warp, const Instruction &inst,
                              unsigned lane, uint64_t address) {
  std::string text;
  while (text.size() < 4096) {
    uint8_t *byte = warp.cluster.generic(
        warp.site(inst, int(lane)), address + text.size(), 1, 1, Access::Read);
    if (!byte || !*byte)
      break;
    text += char(*byte);
  }
  return text;
}

/// Returns the bytes of an argument of a call, up to 8.
static uint64_t argument(Warp &warp, const CallData &call, size_t index,
                         unsigned lane) {
  uint64_t value = 0;
  if (index >= call.arguments.size())
    return 0;
  const Slot &slot = call.arguments[index];
  if (slot.inRegisters)
    return warp.row(call.argumentRows[index])[lane];
  if (uint8_t *bytes =
          warp.local(lane, warp.frame().localBase + slot.offset, slot.bytes))
    std::memcpy(&value, bytes, std::min<uint32_t>(slot.bytes, 8));
  return value;
}

namespace {

/// Formats vprintf of one lane: the values are in a buffer, each at its natural
/// alignment, as the CUDA front end stores them.
class Printer {
public:
  Printer(Warp &warp, const Instruction &inst, unsigned lane, uint64_t values)
      : warp(warp), inst(inst), lane(lane), at(values) {}
  std::string format(const std::string &text);

private:
  std::string convert(std::string spec);
  template <typename T> T take() {
    T value{};
    at = (at + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    if (uint8_t *bytes = warp.cluster.generic(
            warp.site(inst, int(lane)), at, sizeof(T), sizeof(T), Access::Read))
      std::memcpy(&value, bytes, sizeof(T));
    at += sizeof(T);
    return value;
  }
  Warp &warp;
  const Instruction &inst;
  unsigned lane;
  uint64_t at;
};

std::string Printer::convert(std::string spec) {
  char buffer[512];
  char kind = spec.back();
  bool isLong = spec.find('l') != std::string::npos || kind == 'p';
  if (kind == 's')
    return readString(warp, inst, lane, take<uint64_t>());
  if (std::strchr("eEfFgGaA", kind))
    std::snprintf(buffer, sizeof buffer, spec.c_str(), take<double>());
  else if (kind == 'p')
    std::snprintf(buffer, sizeof buffer, "0x%llx",
                  static_cast<unsigned long long>(take<uint64_t>()));
  else if (isLong)
    std::snprintf(buffer, sizeof buffer, spec.c_str(), take<long long>());
  else
    std::snprintf(buffer, sizeof buffer, spec.c_str(), take<int>());
  return buffer;
}

std::string Printer::format(const std::string &text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    size_t end = text.find_first_not_of("0123456789.+-# hlLzjt", i + 1);
    if (end == std::string::npos)
      break;
    std::string spec = text.substr(i, end - i + 1);
    bool known = std::strchr("diouxXceEfFgGaAsp", spec.back());
    // Widths come from the program: keep them within the buffer.
    if (spec.back() == '%')
      out += '%';
    else if (known && spec.size() < 8)
      out += convert(spec);
    else
      out += spec;
    i = end;
  }
  return out;
}

Outcome print(Warp &warp, const Instruction &inst, LaneMask active) {
  const CallData &call = inst.data<CallData>();
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    std::string format =
        readString(warp, inst, lane, argument(warp, call, 0, lane));
    std::string text =
        Printer(warp, inst, lane, argument(warp, call, 1, lane)).format(format);
    // Standard output belongs to the host program's own results.
    std::fwrite(text.data(), 1, text.size(), stderr);
    for (const Slot &result : call.results)
      if (result.inRegisters)
        warp.row({result.row})[lane] = 0;
      else if (uint8_t *bytes =
                   warp.local(lane, warp.frame().localBase + result.offset,
                              result.bytes)) {
        std::memset(bytes, 0, result.bytes);
        if (uint8_t *marks =
                warp.localMarks(lane, warp.frame().localBase + result.offset))
          std::memset(marks, 1, result.bytes);
      }
  }
  return warp.machine.stopped ? Outcome::Fault : Outcome::Next;
}

Outcome failAssertion(Warp &warp, const Instruction &inst, LaneMask active) {
  const CallData &call = inst.data<CallData>();
  unsigned lane = unsigned(std::countr_zero(active));
  std::string message =
      readString(warp, inst, lane, argument(warp, call, 0, lane));
  std::string file =
      readString(warp, inst, lane, argument(warp, call, 1, lane));
  std::string function =
      readString(warp, inst, lane, argument(warp, call, 3, lane));
  warp.machine.fault(
      FindingId::Assertion, warp.site(inst, int(lane)),
      file + ":" + std::to_string(uint32_t(argument(warp, call, 2, lane))) +
          ": " + function + ": assertion '" + message + "' failed.");
  return Outcome::Fault;
}

} // namespace

Outcome ptxsim::executeCall(Warp &warp, const Instruction &inst,
                            LaneMask active) {
  const CallData &call = inst.data<CallData>();
  if (call.external == CallData::Extern::Printf)
    return print(warp, inst, active);
  if (call.external == CallData::Extern::AssertFail)
    return failAssertion(warp, inst, active);
  if (call.callee)
    return warp.call(inst, active, *call.callee);
  const auto &table = warp.machine.program.functionTable;
  const Row &numbers = warp.row(inst.src[0]);
  uint64_t number = numbers[std::countr_zero(active)];
  LaneMask same = 0;
  eachLane(active, [&](unsigned lane) {
    same |= LaneMask(numbers[lane] == number) << lane;
  });
  if (number == 0 || number > table.size() || same != active) {
    warp.machine.fault(FindingId::IllegalInstruction,
                       warp.site(inst, std::countr_zero(active)),
                       "expected the address of one function in all lanes.");
    return Outcome::Fault;
  }
  return warp.call(inst, active, *table[number - 1]);
}
