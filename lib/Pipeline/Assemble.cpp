//===- Assemble.cpp - Run ptxas ---------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process.h"
#include "fmha/Pipeline/Compiler.h"
#include "fmha/Pipeline/KernelCache.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

#include <cstdlib>

using namespace llvm;
using namespace fmha;

std::optional<std::string> fmha::findPtxas() {
  if (const char *named = std::getenv("FMHA_PTXAS"))
    return sys::fs::can_execute(named) ? std::optional<std::string>(named)
                                       : std::nullopt;
  ErrorOr<std::string> found = sys::findProgramByName("ptxas");
  return found ? std::optional<std::string>(*found) : std::nullopt;
}

/// Returns `combine` of the numbers before `what`, one per kernel, as in "Used
/// 128 registers"; nothing if there are none.
static std::optional<unsigned>
numbersBefore(StringRef log, StringRef what,
              function_ref<unsigned(unsigned, unsigned)> combine) {
  std::optional<unsigned> all;
  SmallVector<StringRef> match;
  Regex pattern("([0-9]+) " + what.str());
  for (unsigned value; pattern.match(log, &match);
       log = log.substr(match[0].end() - log.begin()))
    if (!match[1].getAsInteger(10, value))
      all = all ? combine(*all, value) : value;
  return all;
}

AssembleResult fmha::assemble(const std::string &ptx,
                              const std::string &target) {
  AssembleResult result;
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    return result;
  Scratch input("ptx"), output("cubin");
  input.write(ptx);
  if (auto problem = scratchProblem({&input, &output})) {
    result.status = AssembleResult::Status::Failed;
    result.log = std::move(*problem);
    return result;
  }
  ProgramOutcome outcome =
      runProgram(*ptxas, {"-arch=" + target, "-v", "-o",
                          output.path.str().str(), input.path.str().str()});
  result.log = std::move(outcome.log);
  result.status = outcome.code == 0 ? AssembleResult::Status::Ok
                                    : AssembleResult::Status::Failed;
  if (outcome.code != 0)
    return result;
  result.cubin = output.read();
  auto most = [](unsigned a, unsigned b) { return std::max(a, b); };
  auto sum = [](unsigned a, unsigned b) { return a + b; };
  result.registers = numbersBefore(result.log, "registers", most);
  result.spillStoreBytes = numbersBefore(result.log, "bytes spill stores", sum);
  result.spillLoadBytes = numbersBefore(result.log, "bytes spill loads", sum);
  return result;
}
