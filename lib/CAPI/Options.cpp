//===- Options.cpp - Options of the C API, from JSON ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "fmha/Runtime/Files.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace fmha;
using namespace fmha::capi;
using fmha::runtime::failure;
using fmha::tools::FlagTable;

/// Returns whether `name` is a hint; hints are allowed with module text as
/// well.
static bool isHint(StringRef name) {
  return is_contained(map_range(schedule::hints,
                                [](const schedule::Hint &hint) {
                                  return StringRef(hint.name);
                                }),
                      name);
}

static void addSwitch(FlagTable &table, StringRef name, bool &value) {
  table.addSwitch(name, "", [&value](bool on) { value = on; });
}

static void addKeys(FlagTable &table, Options &options, bool isQuery) {
  options.problem.add(table);
  table.group("Output");
  if (isQuery) {
    table.addText("module", "TEXT", "", options.module);
    return;
  }
  table.addText("name", "NAME", "", options.name);
  addSwitch(table, "cubin", options.cubin);
  addSwitch(table, "explain", options.explain);
  addSwitch(table, "cache", options.cache);
  addSwitch(table, "verify-kernels", options.verifyKernels);
  addSwitch(table, "verify-registers", options.verifyRegisters);
}

static Error setOption(FlagTable &table, StringRef name,
                       const json::Value &value) {
  if (value.kind() == json::Value::Null)
    return Error::success();
  if (std::optional<bool> on = value.getAsBoolean())
    return table.set(name, *on);
  if (std::optional<StringRef> text = value.getAsString())
    return table.set(name, *text);
  if (std::optional<int64_t> number = value.getAsInteger())
    return table.set(name, itostr(*number));
  if (std::optional<double> number = value.getAsNumber()) {
    std::string text;
    raw_string_ostream(text) << format("%.17g", *number);
    return table.set(name, text);
  }
  return failure("--" + name +
                 ": expected a string, a number or a boolean, "
                 "got " +
                 formatv("{0}", value).str());
}

static Error unknownKey(const FlagTable &table, StringRef key, StringRef name) {
  std::string nearest = table.nearest(name);
  return failure("unknown option '" + key + "'" +
                 (nearest.empty()
                      ? std::string("; include/fmha-c/Compiler.h says which "
                                    "there are")
                      : "; did you mean '" + nearest + "'?"));
}

/// Returns `json` as an object, an empty one for a null pointer.
static Expected<json::Object> readObject(const char *json) {
  if (!json)
    return json::Object();
  Expected<json::Value> value = json::parse(json);
  if (!value)
    return failure("expected a JSON object: " + toString(value.takeError()));
  if (json::Object *object = value->getAsObject())
    return std::move(*object);
  return failure("expected a JSON object, got " + formatv("{0}", *value).str());
}

Expected<Options> fmha::capi::parseOptions(const char *json, bool isQuery) {
  Expected<json::Object> object = readObject(json);
  if (!object)
    return object.takeError();
  Options options;
  FlagTable table;
  addKeys(table, options, isQuery);
  StringSet<> seen;
  for (const auto &[key, value] : *object) {
    std::string name = StringRef(key).str();
    llvm::replace(name, '_', '-');
    if (!table.has(name))
      return unknownKey(table, key, name);
    if (!seen.insert(name).second)
      return failure("option '" + StringRef(key) +
                     "' is given twice, with '-' and with '_' in its name; "
                     "leave one out");
    if (Error error = setOption(table, name, value))
      return error;
  }
  for (const FlagTable::Given &flag : table.given("Problem"))
    if (StringRef name = StringRef(flag.name).drop_front(2); !isHint(name))
      options.problemKeys.push_back(name.str());
  return options;
}

static CompileOptions compileOptionsOf(const Options &options) {
  CompileOptions result;
  result.target = options.problem.target;
  result.overrides = options.problem.overrides;
  result.hints = hintsOf(options.problem);
  result.verifyKernels = options.verifyKernels;
  result.verifyRegisters = options.verifyRegisters;
  return result;
}

Expected<KernelRequest> fmha::capi::requestOf(Options &options,
                                              const char *text) {
  KernelRequest request;
  request.options = compileOptionsOf(options);
  request.report = options.explain;
  request.cubin = options.cubin;
  if (!text) {
    auto source = tools::resolveSource(options.problem);
    if (!source)
      return source.takeError();
    request.text = std::move(source->text);
    request.name = std::move(source->name);
    return request;
  }
  if (!options.problem.schedule.empty())
    options.problemKeys.push_back("schedule");
  if (!options.problemKeys.empty())
    return failure("option '" + options.problemKeys.front() +
                   "' describes the problem, as the module text does: "
                   "expected one of the two; leave the option out, or give no "
                   "text");
  request.text = text;
  request.name = options.name;
  return request;
}
