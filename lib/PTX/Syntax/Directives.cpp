//===- Directives.cpp - Directives of a function --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"

#include <algorithm>
#include <array>

using namespace ptxsim::syntax;

namespace {

/// Function directives, the minimum and maximum number of their integers, and
/// the minimum of each integer.
struct FunctionDirective {
  std::string_view name;
  unsigned low, high;
  uint32_t least;
};
constexpr std::array<FunctionDirective, 14> kFunctionDirectives = {
    {{".maxntid", 1, 3, 1},
     {".reqntid", 1, 3, 1},
     {".minnctapersm", 1, 1, 1},
     {".maxnctapersm", 1, 1, 1},
     {".maxnreg", 1, 1, 1},
     {".explicitcluster", 0, 0, 0},
     {".reqnctapercluster", 1, 3, 0},
     {".maxclusterrank", 1, 1, 0},
     {".blocksareclusters", 0, 0, 0},
     {".noreturn", 0, 0, 0},
     {".abi_preserve", 1, 1, 0},
     {".abi_preserve_control", 1, 1, 0},
     {".unique", 0, 0, 0},
     {".retain", 0, 0, 0}}};

/// Directives that exclude each other: both define the block, or the cluster,
/// and might disagree.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2>
    kExclusive = {
        {{"maxntid", "reqntid"}, {"maxclusterrank", "reqnctapercluster"}}};

} // namespace

/// Rejects directives that exclude each other, that lack another directive they
/// need, or that PTX has dropped.
void FunctionParser::checkDirectives(const Function &function) const {
  auto has = [&](std::string_view name) {
    return std::ranges::any_of(
        function.directives,
        [&](const Function::Directive &one) { return one.name == name; });
  };
  std::string name(function.name);
  for (auto [one, other] : kExclusive)
    if (has(one) && has(other))
      failAt(function.line, "expected ." + std::string(one) + " or ." +
                                std::string(other) + " of '" + name +
                                "', got both; drop one");
  if (has("blocksareclusters") && !(has("reqntid") && has("reqnctapercluster")))
    failAt(function.line, "expected .reqntid and .reqnctapercluster with "
                          ".blocksareclusters of '" +
                              name + "'");
  bool isOld = module.version.starts_with("1.") || module.version == "2.0";
  if (has("maxnctapersm") && !isOld)
    failAt(function.line, "expected .minnctapersm for '" + name +
                              "', got .maxnctapersm, which PTX dropped in 2.1");
}

void FunctionParser::parseFunctionDirective(Function &function) {
  for (const FunctionDirective &entry : kFunctionDirectives) {
    if (token.text != entry.name)
      continue;
    Function::Directive directive{entry.name.substr(1), {}};
    advance();
    while (directive.values.size() < entry.high &&
           token.kind == Token::Kind::Integer) {
      directive.values.push_back(expectCount(
          "a number after " + std::string(entry.name), entry.least));
      if (directive.values.size() == entry.high || !accept(','))
        break;
    }
    if (directive.values.size() < entry.low)
      fail("an integer after " + std::string(entry.name));
    function.directives.push_back(std::move(directive));
    return;
  }
  if (token.isDirective(".pragma"))
    return skipTo(';');
  if (token.isDirective(".attribute"))
    return skipTo(')');
  fail("a function directive, '{' or ';'");
}
