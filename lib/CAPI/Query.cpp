//===- Query.cpp - Which kernels serve a problem, from C --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Query.h"
#include "Options.h"
#include "fmha-c/Compiler.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cstdlib>
#include <cstring>

using namespace llvm;
using namespace fmha;

static json::Object errorsOf(const std::string &text) {
  return json::Object{{"ok", false}, {"errors", text}};
}

static json::Object answerOf(const KernelQuery &query,
                             const std::string &target) {
  json::Object answer{{"ok", true},
                      {"target", target},
                      {"family", query.family},
                      {"reason", query.reason}};
  if (!query.plan)
    return answer;
  const schedule::Schedule &chosen = query.plan->schedule;
  json::Object fields{
      {"p_placement", std::string(stringify(chosen.pPlacement))}};
  for (const schedule::ScheduleField &field : schedule::scheduleFields())
    fields[std::string(field.name)] = field.print(field.get(chosen));
  answer["schedule"] = std::move(fields);
  return answer;
}

static json::Object answer(const char *options_json) {
  auto options = capi::parseOptions(options_json, /*isQuery=*/true);
  if (!options)
    return errorsOf(toString(options.takeError()));
  auto request = capi::requestOf(
      *options, options->module.empty() ? nullptr : options->module.c_str());
  if (!request)
    return errorsOf(toString(request.takeError()));
  KernelQuery query =
      queryKernel(request->text, request->name, request->options);
  if (!query.ok)
    return errorsOf(tools::formatDiagnostics(query.diagnostics));
  return answerOf(query, request->options.target);
}

int fmhaQuery(const char *options_json, char **json) {
  if (!json)
    return 1;
  json::Object found = answer(options_json);
  bool ok = found.getBoolean("ok").value_or(false);
  std::string text = formatv("{0}", json::Value(std::move(found)));
  *json = strdup(text.c_str());
  return ok ? 0 : 1;
}

void fmhaStringDestroy(char *string) { std::free(string); }
