//===- Names.cpp - Checks declarations of names and labels ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Simulator.h"
#include "fmha/PTX/Syntax/Parser.h"

#include <charconv>
#include <unordered_map>
#include <unordered_set>

using namespace ptxsim::syntax;
using ptxsim::Error;

namespace {

/// The declarations of one lexical scope. A range %r<10> is stored by its stem.
struct Scope {
  std::unordered_set<std::string_view> names;
  std::unordered_map<std::string_view, uint32_t> ranges;
  std::unordered_set<std::string_view> labels;
};

class NameChecker {
public:
  explicit NameChecker(const Module &module) : module(module) {}
  void run();

private:
  void declare(Scope &scope, const Variable &variable);
  void collect(Scope &scope, const Block &block);
  void checkBlock(const Block &block);
  void checkInstruction(const Instruction &inst);
  void checkOperand(const Operand &operand);
  void checkLabel(std::string_view name, uint32_t line);
  bool isDeclared(std::string_view name) const;
  bool isLabel(std::string_view name) const;
  [[noreturn]] void fail(uint32_t line, const std::string &message) const;

  const Module &module;
  std::vector<Scope> scopes;
};

void NameChecker::fail(uint32_t line, const std::string &message) const {
  throw Error(Error::Kind::Syntax,
              module.name + ":" + std::to_string(line) + ": " + message, line);
}

void NameChecker::declare(Scope &scope, const Variable &variable) {
  bool fresh =
      variable.rangeCount
          ? scope.ranges.insert({variable.name, *variable.rangeCount}).second
          : scope.names.insert(variable.name).second;
  if (!fresh && variable.name != "_")
    fail(variable.line, "'" + std::string(variable.name) +
                            "' is declared twice in one scope; rename one");
}

void NameChecker::collect(Scope &scope, const Block &block) {
  for (const Statement &statement : block) {
    if (!statement.label.empty() &&
        !scope.labels.insert(statement.label).second)
      fail(statement.line, "label '" + std::string(statement.label) +
                               "' is defined twice in one scope");
    for (const Variable &variable : statement.variables)
      declare(scope, variable);
  }
}

bool NameChecker::isDeclared(std::string_view name) const {
  size_t stem = name.size();
  while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9')
    --stem;
  uint64_t number = 0;
  bool numbered =
      stem < name.size() &&
      std::from_chars(name.data() + stem, name.data() + name.size(), number)
              .ec == std::errc();
  std::string_view base = name.substr(0, stem);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    if (scope->names.count(name))
      return true;
    if (!numbered)
      continue;
    auto range = scope->ranges.find(base);
    if (range != scope->ranges.end() && number < range->second)
      return true;
  }
  // An element of a vector register or special register: v.x.
  size_t dot = name.rfind('.');
  bool isElement =
      dot != std::string_view::npos && dot + 2 == name.size() &&
      std::string_view("xyzwrgba").find(name.back()) != std::string_view::npos;
  if (isElement && isDeclared(name.substr(0, dot)))
    return !isSpecialRegister(name.substr(0, dot)) || isSpecialRegister(name);
  return isSpecialRegister(name);
}

bool NameChecker::isLabel(std::string_view name) const {
  for (const Scope &scope : scopes)
    if (scope.labels.count(name))
      return true;
  return false;
}

void NameChecker::checkLabel(std::string_view name, uint32_t line) {
  if (!isLabel(name))
    fail(line,
         "expected a label that is in scope, got '" + std::string(name) + "'");
}

void NameChecker::checkOperand(const Operand &operand) {
  if (operand.kind == Operand::Kind::Name && !isDeclared(operand.name) &&
      !isLabel(operand.name))
    fail(operand.line, "expected a declared register or symbol, got '" +
                           std::string(operand.name) + "'");
  for (const Operand &element : operand.elements)
    checkOperand(element);
}

void NameChecker::checkInstruction(const Instruction &inst) {
  if (!inst.guard.empty() && !isDeclared(inst.guard))
    fail(inst.line, "expected a declared predicate after '@', got '" +
                        std::string(inst.guard) + "'");
  bool isBranch = inst.parts[0] == "bra";
  for (const Operand &operand : inst.operands) {
    if (isBranch && operand.kind == Operand::Kind::Name)
      checkLabel(operand.name, inst.line);
    else
      checkOperand(operand);
  }
  if (isBranch && inst.operands.size() != 1)
    fail(inst.line, "expected one label after bra, got " +
                        std::to_string(inst.operands.size()) + " operands");
}

void NameChecker::checkBlock(const Block &block) {
  scopes.emplace_back();
  collect(scopes.back(), block);
  for (const Statement &statement : block) {
    if (statement.kind == Statement::Kind::Instruction)
      checkInstruction(statement.instruction);
    if (statement.kind == Statement::Kind::BranchTargets)
      for (std::string_view target : statement.targets)
        checkLabel(target, statement.line);
    if (statement.scope)
      checkBlock(*statement.scope);
  }
  scopes.pop_back();
}

void NameChecker::run() {
  scopes.emplace_back();
  std::unordered_map<std::string_view, bool> defined;
  for (const Variable &variable : module.variables)
    if (!(variable.isExtern && scopes[0].names.count(variable.name)))
      declare(scopes[0], variable);
  for (const Function &function : module.functions) {
    bool &isDefined = defined[function.name];
    if (isDefined && !function.isPrototype)
      fail(function.line,
           "function '" + std::string(function.name) + "' is defined twice");
    isDefined |= !function.isPrototype;
    scopes[0].names.insert(function.name);
  }
  for (const Variable &variable : module.variables)
    for (const Operand &element : variable.initializer)
      checkOperand(element);
  for (const Function &function : module.functions) {
    scopes.emplace_back();
    for (const Variable &variable : function.results)
      declare(scopes.back(), variable);
    for (const Variable &variable : function.parameters)
      declare(scopes.back(), variable);
    checkBlock(function.body);
    scopes.pop_back();
  }
}

} // namespace

void ptxsim::syntax::checkNames(const Module &module) {
  NameChecker(module).run();
}
