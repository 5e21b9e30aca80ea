//===- KernelText.cpp - PTX that replaces the compiled kernel -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelText.h"
#include "fmha/Runtime/Files.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

namespace fmha::tools {

using runtime::failure;

/// Returns the text after "made by: " in the heading of a generated kernel.
static llvm::StringRef madeBy(llvm::StringRef ptx) {
  while (ptx.consume_front("// ")) {
    llvm::StringRef line;
    std::tie(line, ptx) = ptx.split('\n');
    if (line.consume_front("made by: "))
      return line.rtrim();
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

static const schedule::ScheduleField *findField(llvm::StringRef flag) {
  for (const schedule::ScheduleField &field : schedule::scheduleFields())
    if (flag == "--" + std::string(field.flag))
      return &field;
  return nullptr;
}

/// Applies `flag`, for example "--kv-stages=5", if it is a field of the
/// schedule.
static void adoptField(llvm::StringRef flag, schedule::Overrides &overrides) {
  auto [name, value] = flag.split('=');
  if (name == "--p-placement")
    for (auto placement :
         {schedule::PPlacement::Tmem, schedule::PPlacement::Smem,
          schedule::PPlacement::Registers})
      if (value == llvm::StringRef(stringify(placement)))
        overrides.pPlacement = placement;
  if (const schedule::ScheduleField *field = findField(name))
    field->parse(value, overrides);
}

void adoptSchedule(ProblemFlags &flags, llvm::StringRef ptx) {
  if (madeBy(ptx).contains(" --key-new "))
    flags.appendsApart = false;
  if (!flags.input.empty() || !flags.schedule.empty() ||
      !(flags.overrides == schedule::Overrides()))
    return;
  llvm::StringRef line = madeBy(ptx);
  llvm::StringRef whole = line.split(" --schedule='").second;
  if (!whole.empty()) {
    flags.schedule = whole.split('\'').first.str();
    return;
  }
  for (llvm::StringRef flag : llvm::split(line, ' '))
    adoptField(flag, flags.overrides);
}

//===----------------------------------------------------------------------===//
// Problem
//===----------------------------------------------------------------------===//

/// Returns the word after .target at the beginning of a line.
static llvm::StringRef targetOf(llvm::StringRef ptx) {
  while (!ptx.empty()) {
    llvm::StringRef line;
    std::tie(line, ptx) = ptx.split('\n');
    line = line.trim();
    if (line.consume_front(".target"))
      return line.take_until([](char c) { return c == ',' || c == '/'; })
          .trim();
  }
  return "";
}

using Flags = llvm::MapVector<llvm::StringRef, llvm::StringRef>;

/// Returns the flags of a heading that describe the problem: name and value.
static Flags problemOf(llvm::StringRef made) {
  Flags flags;
  for (llvm::StringRef flag :
       llvm::split(made.split(" --schedule='").first, ' ')) {
    auto [name, value] = flag.split('=');
    bool ofKernel = findField(name) || name == "--p-placement" ||
                    name == "--emit" || name == "--target";
    if (name.starts_with("--") && !ofKernel)
      flags[name] = value;
  }
  return flags;
}

/// Returns the flags of `made` that `other` lacks or has with another value.
static std::string difference(const Flags &made, const Flags &other) {
  std::string text;
  for (auto [name, value] : made) {
    auto there = other.find(name);
    if (there == other.end() || there->second != value)
      text += (text.empty() ? "" : " ") + name.str() +
              (value.empty() ? "" : "=" + value.str());
  }
  return text;
}

llvm::Expected<std::optional<std::string>> readKernel(const RunFlags &flags) {
  if (flags.ptx.empty())
    return std::optional<std::string>();
  auto text = runtime::readFile(flags.ptx);
  if (!text)
    return text.takeError();
  llvm::StringRef target = targetOf(*text);
  if (!target.empty() && target != flags.problem.target)
    return failure("'" + flags.ptx + "': expected a kernel for " +
                   flags.problem.target + ", got one for " + target +
                   ", as its .target says; run it with --target=" + target);
  return std::optional<std::string>(std::move(*text));
}

llvm::Error checkTensors(llvm::StringRef name, llvm::StringRef text,
                         const schedule::Problem &problem) {
  Flags made = problemOf(madeBy(text)), there, asked;
  std::string type(stringify(problem.dtype));
  std::string dim = std::to_string(problem.headDim);
  std::string dimV = std::to_string(problem.headDimV);
  std::string keyType(stringify(problem.kvDtype()));
  asked["--dtype"] = type;
  if (keyType != type)
    asked["--kv-dtype"] = keyType;
  asked["--head-dim"] = dim;
  if (dimV != dim)
    asked["--head-dim-v"] = dimV;
  for (llvm::StringRef flag :
       {"--dtype", "--kv-dtype", "--head-dim", "--head-dim-v"})
    if (auto found = made.find(flag); found != made.end())
      there[flag] = found->second;
  bool same =
      difference(there, asked).empty() && difference(asked, there).empty();
  // Flags do not describe the score region of an op, and a text may have no
  // heading.
  if (there.empty() || same)
    return llvm::Error::success();
  Flags none;
  return failure("'" + name + "': expected a kernel for " +
                 difference(asked, none) + ", got one for " +
                 difference(there, none) +
                 ", as its heading says; change the flags, or the kernel");
}

std::string compareProblems(llvm::StringRef text, llvm::StringRef compiled) {
  Flags made = problemOf(madeBy(text)), asked = problemOf(madeBy(compiled));
  if (made.empty() || asked.empty())
    return "";
  std::string own = difference(made, asked), wanted = difference(asked, made);
  if (own.empty() || wanted.empty())
    return own + (wanted.empty() ? "" : "no " + wanted);
  return own + ", and not " + wanted;
}

} // namespace fmha::tools
