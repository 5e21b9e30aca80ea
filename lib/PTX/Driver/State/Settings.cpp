//===- Settings.cpp - Options by name and from the environment ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include "fmha/PTX/Host/OptionText.h"
#include "fmha/PTX/Sass/Tools.h"
#include "fmha/PTX/Time/Costs.h"
#include "fmha/PTX/Time/Estimate.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

namespace ptxsim::driver {
namespace {

using Outcome = std::optional<std::string>;

Outcome setTarget(Settings &settings, const std::string &value) {
  settings.target = TargetName::parse(value);
  if (settings.target)
    return std::nullopt;
  return "target is '" + value + "', expected a name like sm_100a";
}

Outcome setReport(Settings &settings, const std::string &value) {
  settings.reportFile = value == "none" ? "" : value;
  return std::nullopt;
}

Outcome setTimeline(Settings &settings, const std::string &value) {
  settings.timelineFile = value == "none" ? "" : value;
  return std::nullopt;
}

Outcome setChoice(bool &field, const std::string &name,
                  const std::string &value, const char *yes, const char *no) {
  if (value != yes && value != no)
    return name + " is '" + value + "', expected " + yes + " | " + no;
  field = value == yes;
  return std::nullopt;
}

Outcome setOnFinding(Settings &settings, const std::string &value) {
  return setChoice(settings.failOnFinding, "on-finding", value, "fail",
                   "report");
}

Outcome setMessages(Settings &settings, const std::string &value) {
  return setChoice(settings.messages, "messages", value, "on", "off");
}

Outcome setTime(Settings &settings, const std::string &value) {
  if (value != "on" && value != "sass" && value != "off")
    return "time is '" + value + "', expected on | sass | off";
  std::string target = settings.target ? settings.target->text() : "";
  if (value != "off" && settings.target &&
      !timing::figuresOf(target, timing::Level::Middle))
    return "expected a target with figures for the modeled time (" +
           timing::targetsWithFigures() + "), got " + target +
           "; take one of them, or do not model the time";
  if (value == "sass")
    if (Outcome missing = sass::describeMissingTool())
      return missing;
  settings.time = value != "off";
  settings.sass = value == "sass";
  return std::nullopt;
}

Outcome setNumber(unsigned &field, const std::string &name,
                  const std::string &value) {
  const char *end = value.data() + value.size();
  auto [last, error] = std::from_chars(value.data(), end, field);
  if (error == std::errc() && last == end)
    return std::nullopt;
  return name + " is '" + value + "', expected a number";
}

Outcome setTimeSms(Settings &settings, const std::string &value) {
  return setNumber(settings.timeSms, "time-sms", value);
}

Outcome setTimeSm(Settings &settings, const std::string &value) {
  return setNumber(settings.timeSm, "time-sm", value);
}

Outcome setTimeDraws(Settings &settings, const std::string &value) {
  unsigned draws = 0;
  if (Outcome wrong = setNumber(draws, "time-draws", value))
    return wrong;
  if (draws > timing::kMostDraws)
    return "time-draws is '" + value + "', expected a number from 0 to " +
           std::to_string(timing::kMostDraws);
  settings.timeDraws = draws;
  return std::nullopt;
}

Outcome setTimeL2(Settings &settings, const std::string &value) {
  if (value != "cold" && value != "warm")
    return "time-l2 is '" + value + "', expected cold | warm";
  settings.isL2Warm = value == "warm";
  return std::nullopt;
}

struct Setter {
  const char *name;
  Outcome (*set)(Settings &, const std::string &);
};
constexpr Setter setters[] = {
    {"target", setTarget},        {"report", setReport},
    {"on-finding", setOnFinding}, {"time", setTime},
    {"time-sms", setTimeSms},     {"time-sm", setTimeSm},
    {"time-l2", setTimeL2},       {"time-draws", setTimeDraws},
    {"timeline", setTimeline},    {"messages", setMessages}};

constexpr const char *names[] = {
    "target",     "policy",   "seed",     "checks",    "conformance",
    "mma",        "approx",   "threads",  "max-steps", "report",
    "on-finding", "time",     "time-sms", "time-sm",   "time-l2",
    "time-draws", "timeline", "messages"};

std::string variableOf(const char *name) {
  std::string variable = std::string("PTXSIM_") + name;
  std::replace(variable.begin(), variable.end(), '-', '_');
  for (char &c : variable)
    c = char(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

} // namespace

Outcome setSetting(Settings &settings, const std::string &name,
                   const std::string &value) {
  for (const Setter &setter : setters)
    if (name == setter.name)
      return setter.set(settings, value);
  if (isOption(name))
    return setOption(settings.options, name, value);
  std::string expected;
  for (const char *known : names)
    expected += (expected.empty() ? "" : ", ") + std::string(known);
  return "unknown option '" + name + "', expected one of " + expected;
}

Outcome readEnvironment(Settings &settings) {
  for (const char *name : names) {
    std::string variable = variableOf(name);
    const char *value = std::getenv(variable.c_str());
    if (!value || !*value)
      continue;
    if (Outcome wrong = setSetting(settings, name, value))
      return variable + ": " + *wrong;
  }
  return std::nullopt;
}

} // namespace ptxsim::driver
