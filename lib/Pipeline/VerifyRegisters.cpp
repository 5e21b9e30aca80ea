//===- VerifyRegisters.cpp - Replace kernels that ptxas spills ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyRegisters.h"

#include "fmha/Schedule/Model/Overrides.h"

using namespace fmha;

/// Returns what ptxas does wrong with the kernel, "" if nothing.
static std::string objectionTo(const AssembleResult &assembled) {
  auto says = [&](const char *text) {
    return assembled.log.find(text) != std::string::npos;
  };
  unsigned bytes = assembled.spillStoreBytes.value_or(0) +
                   assembled.spillLoadBytes.value_or(0);
  if (assembled.status == AssembleResult::Status::Failed)
    return "rejects the PTX:\n" + assembled.log + "\n";
  if (bytes)
    return "spills registers (" + std::to_string(bytes) +
           " bytes of loads and stores)";
  if (says("ignored"))
    return "ignores setmaxnreg";
  return says("(C75") ? "serializes wgmma" : "";
}

static CompileResult fail(CompileResult result, const std::string &message) {
  result.ok = false;
  result.diagnostics.push_back({Diagnostic::Severity::Error, "", message});
  return result;
}

/// Returns `made` as the result of `plan`, in place of its choice.
static CompileResult replaceBy(CompileResult made, schedule::Plan plan,
                               size_t place, const std::string &objection) {
  std::string text =
      "ptxas " + objection + " of the planner's choice, so runner-up " +
      std::to_string(place + 1) +
      " replaces it: " + differences(made.plan->schedule, plan.schedule) +
      " in place of " + differences(plan.schedule, made.plan->schedule);
  made.diagnostics.push_back({Diagnostic::Severity::Warning, "", text});
  made.plan->reason += "; " + text;
  plan.runnersUp.erase(plan.runnersUp.begin(),
                       plan.runnersUp.begin() + ptrdiff_t(place) + 1);
  made.plan->runnersUp = std::move(plan.runnersUp);
  made.plan->rejected = std::move(plan.rejected);
  return made;
}

CompileResult fmha::compileVerified(
    const CompileOptions &options,
    const std::function<CompileResult(const CompileOptions &)> &compile) {
  constexpr size_t mostTries = 16;
  CompileResult first = compile(options);
  if (!options.verifyRegisters || options.to || !first.ok)
    return first;
  AssembleResult assembled = assemble(first.ptx, options.target);
  if (assembled.status == AssembleResult::Status::Missing)
    return fail(std::move(first),
                "verification of registers needs ptxas: expected it on the "
                "PATH or named by FMHA_PTXAS, got neither; leave "
                "verify-registers out, or name one");
  std::string objection = objectionTo(assembled);
  if (objection.empty())
    return first;
  size_t tries =
      first.plan ? std::min(first.plan->runnersUp.size(), mostTries) : 0;
  CompileOptions fixed = options;
  for (size_t i = 0; i < tries; ++i) {
    fixed.overrides = fixAll(first.plan->runnersUp[i].schedule);
    CompileResult made = compile(fixed);
    if (made.ok && objectionTo(assemble(made.ptx, options.target)).empty())
      return replaceBy(std::move(made), std::move(*first.plan), i, objection);
  }
  return fail(
      std::move(first),
      "ptxas " + objection + " of this kernel" +
          (tries ? " and of its " + std::to_string(tries) + " best runners-up"
                 : ", whose schedule is fixed") +
          "; take other fields of the schedule, a smaller kv_block or "
          "fewer q_tiles, or leave verify-registers out");
}
