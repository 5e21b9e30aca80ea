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

using namespace ptxsim::syntax;

namespace {

/// PTX ISA release history: the last minor release of each major one. Releases
/// of the newest are not refused before they come: a form that is not known
/// yet is an error of its own.
struct Release {
  unsigned major, lastMinor;
};
constexpr std::array<Release, 9> kReleases = {
    {{1, 5}, {2, 3}, {3, 2}, {4, 3}, {5, 1}, {6, 5}, {7, 8}, {8, 8}, {9, 9}}};

/// .target of the manual, and which of the suffixes a and f each has.
struct Architecture {
  std::string_view name, suffixes;
};
constexpr std::array<Architecture, 31> kArchitectures = {
    {{"sm_10", ""},    {"sm_11", ""},    {"sm_12", ""},    {"sm_13", ""},
     {"sm_20", ""},    {"sm_21", ""},    {"sm_30", ""},    {"sm_32", ""},
     {"sm_35", ""},    {"sm_37", ""},    {"sm_50", ""},    {"sm_52", ""},
     {"sm_53", ""},    {"sm_60", ""},    {"sm_61", ""},    {"sm_62", ""},
     {"sm_70", ""},    {"sm_72", ""},    {"sm_75", ""},    {"sm_80", ""},
     {"sm_86", ""},    {"sm_87", ""},    {"sm_88", ""},    {"sm_89", ""},
     {"sm_90", "a"},   {"sm_100", "af"}, {"sm_101", "af"}, {"sm_103", "af"},
     {"sm_110", "af"}, {"sm_120", "af"}, {"sm_121", "af"}}};

constexpr std::array<std::string_view, 4> kTargetOptions = {
    "debug", "texmode_unified", "texmode_independent", "map_f64_to_f32"};

/// "sm_90a" of "compute_90a", the name of the same in front of ptxas.
std::string realTarget(std::string_view name) {
  constexpr std::string_view kVirtual = "compute_";
  bool isVirtual = name.starts_with(kVirtual);
  return isVirtual ? "sm_" + std::string(name.substr(kVirtual.size()))
                   : std::string(name);
}

bool isTarget(std::string_view text) {
  std::string real = realTarget(text);
  std::string_view name = real;
  return std::ranges::any_of(kArchitectures, [&](const Architecture &entry) {
    if (!name.starts_with(entry.name))
      return false;
    std::string_view suffix = name.substr(entry.name.size());
    return suffix.empty() ||
           (suffix.size() == 1 &&
            entry.suffixes.find(suffix[0]) != std::string_view::npos);
  });
}

/// "sm_90[a], sm_100[a|f]", from sm_50 on: older ones have no toolkit any more.
std::string knownTargets() {
  std::string text;
  bool shown = false;
  for (const Architecture &entry : kArchitectures) {
    shown |= entry.name == "sm_50";
    if (!shown)
      continue;
    text += (text.empty() ? "" : ", ") + std::string(entry.name);
    if (!entry.suffixes.empty())
      text += entry.suffixes.size() == 1 ? "[a]" : "[a|f]";
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

bool isVersion(std::string_view text) {
  unsigned major = 0, minor = 0;
  const char *begin = text.data(), *end = begin + text.size();
  auto [dot, wrong] = std::from_chars(begin, end, major);
  if (wrong != std::errc() || dot == end || *dot != '.')
    return false;
  auto [last, alsoWrong] = std::from_chars(dot + 1, end, minor);
  return alsoWrong == std::errc() && last == end &&
         std::ranges::any_of(kReleases, [&](const Release &release) {
           return release.major == major && minor <= release.lastMinor;
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
