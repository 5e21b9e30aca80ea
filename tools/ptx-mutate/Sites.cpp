//===- Sites.cpp - The mutation sites of a kernel -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sites.h"

#include "Rules.h"

#include <algorithm>
#include <map>

using namespace ptxsim::syntax;

namespace ptxsim::mutate {
namespace {

class Finder {
public:
  explicit Finder(const Module &module) : module(module) {}

  void visit(const Function &function) {
    Facts facts(function.body);
    for (const Instruction *instruction : instructionsOf(function.body)) {
      facts.reach(*instruction);
      for (const Rule &rule : rules())
        if (rule.pattern.matches(*instruction))
          add(function, rule, {*instruction, facts});
    }
  }

  std::vector<Site> found;

private:
  void add(const Function &function, const Rule &rule,
           const RewriteInput &input) {
    std::optional<std::string> after = rule.rewrite(input);
    if (!after)
      return;
    const Instruction &instruction = input.instruction;
    Site site;
    site.group = rule.group;
    site.name = rule.name;
    site.function = function.name;
    site.line = instruction.line;
    Words words(instruction);
    site.before = words.text();
    site.guard = words.guard;
    site.after = *after;
    site.offset = size_t(instruction.text.data() - module.text.data());
    site.length = instruction.text.size();
    site.id = site.group + "/" + site.name + "@" + std::to_string(site.line);
    if (unsigned nth = ++uses[site.id]; nth > 1)
      site.id += "#" + std::to_string(nth);
    found.push_back(std::move(site));
  }

  const Module &module;
  std::map<std::string, unsigned> uses;
};

std::string replaced(const Module &module, const Site &site,
                     const std::string &after) {
  std::string_view old =
      std::string_view(module.text).substr(site.offset, site.length);
  size_t lines = size_t(std::count(old.begin(), old.end(), '\n'));
  std::string text = module.text;
  return text.replace(site.offset, site.length,
                      after + std::string(lines, '\n'));
}

} // namespace

std::vector<Site> sites(const Module &module) {
  Finder finder(module);
  for (const Function &function : module.functions)
    finder.visit(function);
  return std::move(finder.found);
}

std::string mutant(const Module &module, const Site &site) {
  return replaced(module, site, site.after);
}

std::string probe(const Module &module, const Site &site) {
  return replaced(module, site, site.guard + "trap;");
}

} // namespace ptxsim::mutate
