//===- Query.cpp - Find the kernel for a problem ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Query.h"
#include "fmha/Schedule/Report/Explain.h"
#include "fmha/Target/Target.h"

using namespace fmha;

std::string fmha::whyUnsupported(const std::string &name) {
  const target::Target *target = target::findTarget(name);
  if (target && target->supported)
    return "";
  std::string reason =
      target ? "target " + name + " is not supported: " + target->reason
             : "unknown target " + name;
  return reason + "; expected one of " + target::supportedNames() +
         target::hint(name);
}

KernelQuery fmha::queryKernel(const std::string &moduleText,
                              const std::string &name,
                              const CompileOptions &options) {
  CompileResult found = inspect(moduleText, name);
  KernelQuery query;
  query.ok = found.ok;
  query.diagnostics = std::move(found.diagnostics);
  if (!query.ok)
    return query;
  query.problem = schedule::withHints(found.spec.problem, options.hints);
  query.family = "none";
  query.reason = whyUnsupported(options.target);
  if (!query.reason.empty())
    return query;
  query.plan = schedule::plan(query.problem, options.target, options.overrides,
                              query.reason);
  if (query.plan) {
    query.family = schedule::familyName(query.plan->schedule);
    query.reason = query.plan->reason;
  }
  return query;
}
