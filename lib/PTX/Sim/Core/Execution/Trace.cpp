//===- Trace.cpp - The instructions one warp executed ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

#include "fmha/PTX/Sim/Core/Program/Program.h"

#include <bit>
#include <cstdio>

using namespace ptxsim;

template <typename... Values>
static std::string format(const char *pattern, Values... values) {
  char buffer[96];
  std::snprintf(buffer, sizeof buffer, pattern, values...);
  return buffer;
}

std::string ptxsim::textOf(const Program &program, const Instruction &inst) {
  std::string_view text = program.module->text;
  const char *begin = inst.opcode.data();
  if (begin < text.data() || begin >= text.data() + text.size())
    return std::string(inst.opcode);
  size_t at = size_t(begin - text.data());
  size_t end = std::min(text.find(';', at), text.size());
  if (inst.guard.valid())
    if (size_t guard = text.rfind('@', at); guard != text.npos)
      at = guard;
  std::string line;
  for (char c : text.substr(at, end - at)) {
    bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  return line;
}

/// Returns the value, followed by its value as a float if the opcode has a
/// float type.
static std::string valueText(std::string_view opcode, uint64_t value) {
  std::string text = format("0x%llx", static_cast<unsigned long long>(value));
  if (opcode.ends_with(".f32"))
    text += format(" (%.9g)", double(std::bit_cast<float>(uint32_t(value))));
  else if (opcode.ends_with(".f64"))
    text += format(" (%.17g)", std::bit_cast<double>(value));
  return text;
}

static std::string resultText(const Warp &warp, const Instruction &inst,
                              LaneMask active) {
  std::string text;
  for (const Operand &operand : inst.dst)
    if (operand.valid() && !operand.isConstant())
      text += (text.empty() ? "  = " : ", ") +
              valueText(inst.opcode, warp.uniform(operand, active));
  return text;
}

/// Returns true if the decoder inserted `inst` before an instruction of the
/// text to compute one of its operands.
static bool isHelper(const Warp &warp, const Instruction &inst) {
  const std::vector<Instruction> &code = warp.frame().code->instructions;
  size_t next = size_t(&inst - code.data()) + 1;
  return next < code.size() && code[next].opcode.data() == inst.opcode.data();
}

void Tracer::executed(const Warp &warp, const Instruction &inst,
                      LaneMask active, Outcome outcome) {
  bool stays = outcome == Outcome::Next;
  if (lines > request.limit || (stays && isHelper(warp, inst)))
    return;
  if (lines++ == request.limit) {
    request.line(request.context, "the trace ends here after " +
                                      std::to_string(request.limit) +
                                      " instructions; more with --trace-limit");
    return;
  }
  std::string text =
      format("%5u %08x  ", inst.line, active) + textOf(program, inst);
  // A branch, call or return has left the frame whose registers it names.
  if (outcome == Outcome::Next || outcome == Outcome::NextAndWait ||
      outcome == Outcome::Yield)
    text += resultText(warp, inst, active);
  if (outcome == Outcome::Retry)
    text += "  (cannot go on yet)";
  if (outcome == Outcome::NextAndWait)
    text += "  (sleeps)";
  if (outcome == Outcome::Fault)
    text += "  (faults)";
  request.line(request.context, text);
}
