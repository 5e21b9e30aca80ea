//===- Header.cpp - .version and .target of a module ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"
#include "fmha/PTX/Syntax/Parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

using namespace ptxsim::syntax;

namespace {

/// PTX ISA release history: the last minor release of each major one. Future
/// releases of the newest major one are accepted: an unknown form is reported
/// as a separate error.
struct Release {
  unsigned major, lastMinor;
};
constexpr std::array<Release, 9> kReleases = {
    {{1, 5}, {2, 3}, {3, 2}, {4, 3}, {5, 1}, {6, 5}, {7, 8}, {8, 8}, {9, 9}}};

/// .target names of the manual, and the .version that introduced each (ptxas
/// 13.0; any for those that it no longer supports): the plain name, and with
/// the suffixes a and f if these exist.
struct Architecture {
  std::string_view name, since, sinceA, sinceF;
};
constexpr std::array<Architecture, 31> kArchitectures = {
    {{"sm_10", "1.0", "", ""},        {"sm_11", "1.0", "", ""},
     {"sm_12", "1.0", "", ""},        {"sm_13", "1.0", "", ""},
     {"sm_20", "1.0", "", ""},        {"sm_21", "1.0", "", ""},
     {"sm_30", "1.0", "", ""},        {"sm_32", "1.0", "", ""},
     {"sm_35", "1.0", "", ""},        {"sm_37", "1.0", "", ""},
     {"sm_50", "4.0", "", ""},        {"sm_52", "4.1", "", ""},
     {"sm_53", "4.2", "", ""},        {"sm_60", "5.0", "", ""},
     {"sm_61", "5.0", "", ""},        {"sm_62", "5.0", "", ""},
     {"sm_70", "5.1", "", ""},        {"sm_72", "6.1", "", ""},
     {"sm_75", "6.3", "", ""},        {"sm_80", "7.0", "", ""},
     {"sm_86", "7.1", "", ""},        {"sm_87", "7.4", "", ""},
     {"sm_88", "7.3", "", ""},        {"sm_89", "7.8", "", ""},
     {"sm_90", "7.8", "8.0", ""},     {"sm_100", "8.6", "8.6", "8.8"},
     {"sm_101", "8.6", "8.6", "8.8"}, {"sm_103", "8.8", "8.8", "8.8"},
     {"sm_110", "9.0", "9.0", "9.0"}, {"sm_120", "8.7", "8.7", "8.8"},
     {"sm_121", "8.8", "8.8", "8.8"}}};

constexpr std::array<std::string_view, 4> kTargetOptions = {
    "debug", "texmode_unified", "texmode_independent", "map_f64_to_f32"};

/// Returns "sm_90a" for "compute_90a", which is the same target as input of
/// ptxas.
std::string realTarget(std::string_view name) {
  constexpr std::string_view kVirtual = "compute_";
  bool isVirtual = name.starts_with(kVirtual);
  return isVirtual ? "sm_" + std::string(name.substr(kVirtual.size()))
                   : std::string(name);
}

/// Returns the first .version with a target, empty if PTX has no such target.
std::string_view sinceOf(std::string_view text) {
  std::string real = realTarget(text);
  for (const Architecture &entry : kArchitectures) {
    if (!std::string_view(real).starts_with(entry.name))
      continue;
    std::string_view suffix = std::string_view(real).substr(entry.name.size());
    std::string_view since = suffix.empty()  ? entry.since
                             : suffix == "a" ? entry.sinceA
                             : suffix == "f" ? entry.sinceF
                                             : std::string_view();
    if (!since.empty())
      return since;
  }
  return {};
}

bool isTarget(std::string_view text) { return !sinceOf(text).empty(); }

/// Returns "sm_90[a], sm_100[a|f]", from sm_50 on: no current toolkit supports
/// older ones.
std::string knownTargets() {
  std::string text;
  bool shown = false;
  for (const Architecture &entry : kArchitectures) {
    shown |= entry.name == "sm_50";
    if (!shown)
      continue;
    text += (text.empty() ? "" : ", ") + std::string(entry.name);
    if (!entry.sinceA.empty())
      text += entry.sinceF.empty() ? "[a]" : "[a|f]";
  }
  return text;
}

std::string knownVersions() {
  std::string text;
  for (const Release &release : kReleases) {
    std::string major = std::to_string(release.major);
    text += (text.empty() ? "" : ", ") + major + ".0 to " + major + "." +
            std::to_string(release.lastMinor);
  }
  return text;
}

/// Parses "8.8" as a pair that can be compared, or returns nullopt.
std::optional<std::pair<unsigned, unsigned>>
parseRelease(std::string_view text) {
  unsigned major = 0, minor = 0;
  const char *begin = text.data(), *end = begin + text.size();
  auto [dot, wrong] = std::from_chars(begin, end, major);
  if (wrong != std::errc() || dot == end || *dot != '.')
    return std::nullopt;
  auto [last, alsoWrong] = std::from_chars(dot + 1, end, minor);
  if (alsoWrong != std::errc() || last != end)
    return std::nullopt;
  return std::pair(major, minor);
}

bool isVersion(std::string_view text) {
  auto version = parseRelease(text);
  return version && std::ranges::any_of(kReleases, [&](const Release &release) {
           return release.major == version->first &&
                  version->second <= release.lastMinor;
         });
}

} // namespace

void Parser::parseHeader() {
  if (!token.isDirective(".version"))
    fail("'.version' at the start of the module");
  advance();
  parseVersion();
  if (!token.isDirective(".target"))
    fail("'.target' after '.version'");
  advance();
  parseTarget();
}

void Parser::parseVersion() {
  if (token.kind != Token::Kind::Float)
    fail("a version such as 8.8");
  if (!isVersion(token.text))
    fail("a .version that PTX has (" + knownVersions() + ")");
  module.version = token.text;
  advance();
}

void Parser::parseTarget() {
  if (token.kind != Token::Kind::Word || !isTarget(token.text))
    fail("a .target that PTX has (" + knownTargets() + ")");
  std::string_view since = sinceOf(token.text);
  if (parseRelease(module.version) < parseRelease(since))
    fail("a .target that PTX " + module.version + " has; .version " +
         std::string(since) + " or later brings this one");
  module.target = realTarget(expectWord("a target"));
  while (accept(',')) {
    bool known =
        isTarget(token.text) ||
        std::ranges::find(kTargetOptions, token.text) != kTargetOptions.end();
    if (!known)
      fail("debug or another option of .target");
    advance();
  }
}
