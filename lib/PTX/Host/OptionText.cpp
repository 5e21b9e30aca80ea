//===- OptionText.cpp - Options of a run, parsed from text ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Host/OptionText.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

namespace ptxsim {

std::optional<uint64_t> parseUnsigned(std::string_view text) {
  int base = 10;
  if (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X") {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const char *begin = text.data(), *end = begin + text.size();
  auto [last, error] = std::from_chars(begin, end, value, base);
  if (text.empty() || error != std::errc() || last != end)
    return std::nullopt;
  return value;
}

namespace {

using Outcome = std::optional<std::string>;

Outcome reject(std::string_view name, std::string_view value,
               std::string_view expected) {
  return std::string(name) + " is '" + std::string(value) + "', expected " +
         std::string(expected);
}

template <typename T> struct Word {
  const char *text;
  T value;
};

template <typename T, size_t N>
Outcome setWord(T &field, std::string_view name, std::string_view value,
                const Word<T> (&words)[N]) {
  std::string expected;
  for (const Word<T> &word : words) {
    if (value == word.text) {
      field = word.value;
      return std::nullopt;
    }
    expected += (expected.empty() ? "" : " | ") + std::string(word.text);
  }
  return reject(name, value, expected);
}

Outcome setNumber(uint64_t &field, std::string_view name,
                  std::string_view value) {
  std::optional<uint64_t> number = parseUnsigned(value);
  if (!number)
    return reject(name, value, "a number from 0 to 2^64-1");
  field = *number;
  return std::nullopt;
}

Outcome setPolicy(Options &o, std::string_view name, std::string_view value) {
  static const Word<Policy> words[] = {{"eager", Policy::Eager},
                                       {"late", Policy::Late},
                                       {"random", Policy::Random},
                                       {"pct", Policy::Pct}};
  return setWord(o.policy, name, value, words);
}

Outcome setMma(Options &o, std::string_view name, std::string_view value) {
  static const Word<MmaMode> words[] = {{"fast", MmaMode::Fast},
                                        {"exact", MmaMode::Exact}};
  return setWord(o.mma, name, value, words);
}

Outcome setApprox(Options &o, std::string_view name, std::string_view value) {
  static const Word<ApproxMode> words[] = {{"correct", ApproxMode::Correct},
                                           {"perturb", ApproxMode::Perturb},
                                           {"sm_90", ApproxMode::Sm90}};
  return setWord(o.approx, name, value, words);
}

Outcome setConformance(Options &o, std::string_view name,
                       std::string_view value) {
  static const Word<Conformance> words[] = {
      {"isa", Conformance::Isa}, {"practice", Conformance::Practice}};
  return setWord(o.conformance, name, value, words);
}

constexpr std::string_view findingIds[] = {
#define FINDING(name, id, severity, ...) id,
#include "fmha/PTX/Sim/Findings.def"
#undef FINDING
};

bool isCheck(std::string_view id) {
  if (id == "all" || id == "none")
    return true;
  return std::find(std::begin(findingIds), std::end(findingIds), id) !=
         std::end(findingIds);
}

std::string allIds() {
  std::string ids;
  for (std::string_view id : findingIds)
    ids += ", " + std::string(id);
  return ids;
}

Outcome setChecks(Options &o, std::string_view name, std::string_view value) {
  std::set<std::string> ids;
  while (!value.empty()) {
    size_t comma = value.find(',');
    std::string_view id = value.substr(0, comma);
    if (!id.empty() && !isCheck(id))
      return reject(name, id, "all, none" + allIds());
    if (!id.empty())
      ids.emplace(id);
    value.remove_prefix(comma == value.npos ? value.size() : comma + 1);
  }
  if (ids.empty())
    return reject(name, "", "all | none | finding ids, comma-separated");
  o.checks = std::move(ids);
  return std::nullopt;
}

Outcome setSeed(Options &o, std::string_view name, std::string_view value) {
  return setNumber(o.scheduleSeed, name, value);
}

Outcome setThreads(Options &o, std::string_view name, std::string_view value) {
  uint64_t threads = 0;
  Outcome wrong = setNumber(threads, name, value);
  if (!wrong && threads > 1024)
    return reject(name, value, "0 for all cores, or a number up to 1024");
  o.threads = unsigned(threads);
  return wrong;
}

Outcome setMaxSteps(Options &o, std::string_view name, std::string_view value) {
  return setNumber(o.maxSteps, name, value);
}

struct Setter {
  const char *name;
  Outcome (*set)(Options &, std::string_view, std::string_view);
};

constexpr std::array<Setter, 8> setters = {{{"policy", setPolicy},
                                            {"seed", setSeed},
                                            {"checks", setChecks},
                                            {"conformance", setConformance},
                                            {"mma", setMma},
                                            {"approx", setApprox},
                                            {"threads", setThreads},
                                            {"max-steps", setMaxSteps}}};

const Setter *findSetter(std::string_view name) {
  for (const Setter &setter : setters)
    if (name == setter.name)
      return &setter;
  return nullptr;
}

} // namespace

bool isOption(std::string_view name) { return findSetter(name) != nullptr; }

std::optional<std::string> setOption(Options &options, std::string_view name,
                                     std::string_view value) {
  if (const Setter *setter = findSetter(name))
    return setter->set(options, name, value);
  return "unknown option '" + std::string(name) +
         "', expected policy, seed, checks, conformance, mma, approx, "
         "threads or max-steps";
}

} // namespace ptxsim
