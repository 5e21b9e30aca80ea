//===- ProgramBuilder.cpp - Decodes an entry and all functions it calls ---===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionDecoder.h"

#include "fmha/PTX/Syntax/Parser.h"

#include <algorithm>
#include <set>

using namespace ptxsim;

ProgramBuilder::ProgramBuilder(const syntax::Module &module,
                               const Registry &registry)
    : module(module), registry(registry), program(std::make_unique<Program>()) {
  program->module = &module;
  for (const syntax::Function &function : module.functions) {
    const syntax::Function *&known = functions[function.name];
    if (!known || known->isPrototype)
      known = &function;
  }
}

Operand ProgramBuilder::constant(uint64_t value) {
  auto [found, fresh] =
      constantIndex.insert({value, uint32_t(program->constants.size())});
  if (fresh)
    program->constants.push_back(value);
  return {found->second | Operand::kConstant};
}

Operand ProgramBuilder::relocated(Relocation::Kind kind,
                                  std::string_view variable, uint64_t offset) {
  auto [found, fresh] = relocations.insert(
      {{int(kind), variable, offset}, uint32_t(program->constants.size())});
  if (fresh) {
    program->relocations.push_back({kind, found->second, variable, offset});
    program->constants.push_back(0);
  }
  return {found->second | Operand::kConstant};
}

Symbol ProgramBuilder::placeShared(const syntax::Variable &variable) {
  Symbol symbol;
  symbol.variable = &variable;
  uint32_t align = alignOf(variable);
  bool dynamic = variable.isExtern ||
                 (!variable.dimensions.empty() && variable.dimensions[0] == 0);
  if (dynamic) {
    symbol.kind = Symbol::Kind::DynamicShared;
    program->sharedVariables.push_back({variable.name, 0, 0, true});
    program->dynamicAlign = std::max(program->dynamicAlign, align);
    return symbol;
  }
  symbol.kind = Symbol::Kind::Shared;
  uint32_t begin = kSharedBase + program->staticSharedBytes;
  begin = (begin + align - 1) / align * align;
  symbol.index = begin;
  program->sharedVariables.push_back(
      {variable.name, begin, sizeOf(variable), false});
  // A declaration holds less than 2^24 bytes, so that the sum cannot wrap
  // before this.
  program->staticSharedBytes = begin - kSharedBase + uint32_t(sizeOf(variable));
  if (program->staticSharedBytes > kSharedLimit)
    throw Error(Error::Kind::Launch,
                "expected at most " + std::to_string(kSharedLimit) +
                    " bytes of static shared memory, got " +
                    std::to_string(program->staticSharedBytes) + " with '" +
                    std::string(variable.name) + "'",
                variable.line);
  return symbol;
}

Symbol ProgramBuilder::moduleSymbol(const syntax::Variable &variable) {
  Symbol symbol;
  symbol.variable = &variable;
  symbol.kind = Symbol::Kind::Global;
  return symbol;
}

const syntax::Function *
ProgramBuilder::findFunction(std::string_view name) const {
  auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

Code *ProgramBuilder::codeOf(const syntax::Function &function) {
  std::unique_ptr<Code> &code = program->codes[&function];
  if (!code) {
    code = std::make_unique<Code>();
    code->function = &function;
    work.push_back(&function);
  }
  return code.get();
}

uint32_t ProgramBuilder::numberOf(const syntax::Function &function) {
  const Code *code = codeOf(function);
  for (size_t i = 0; i < program->functionTable.size(); ++i)
    if (program->functionTable[i] == code)
      return uint32_t(i + 1);
  program->functionTable.push_back(code);
  return uint32_t(program->functionTable.size());
}

void ProgramBuilder::measureStack() {
  // A call chain visits each function at most once unless it recurses. The
  // space for recursion is an estimate that call() checks.
  uint64_t deepest = 0, local = 0;
  for (auto &[function, code] : program->codes) {
    program->stackRows += code->rows;
    program->stackLocal += (code->localBytes + 15) / 16 * 16;
    deepest = std::max<uint64_t>(deepest, code->rows);
    local = std::max<uint64_t>(local, code->localBytes);
  }
  if (program->stackLocal > kLocalLimit)
    throw Error(Error::Kind::Launch,
                "expected at most " + std::to_string(kLocalLimit) +
                    " bytes of local memory per thread, got " +
                    std::to_string(program->stackLocal));
  if (program->codes.size() > 1) {
    program->stackRows += deepest * 32;
    program->stackLocal += (local + 15) / 16 * 16 * 32;
    program->stackLocal = std::min<uint64_t>(program->stackLocal, kLocalLimit);
  }
}

/// Collects the names of shared variables that functions use: only these occupy
/// memory.
static void collectNames(const syntax::Operand &operand,
                         std::set<std::string_view> &names) {
  if (operand.kind == syntax::Operand::Kind::Name)
    names.insert(operand.name);
  for (const syntax::Operand &element : operand.elements)
    collectNames(element, names);
}

static void collectNames(const syntax::Block &block,
                         std::set<std::string_view> &names) {
  for (const syntax::Statement &statement : block) {
    for (const syntax::Operand &operand : statement.instruction.operands)
      collectNames(operand, names);
    if (statement.scope)
      collectNames(*statement.scope, names);
  }
}

std::unique_ptr<Program> ProgramBuilder::build(const syntax::Function &entry) {
  // The names used by the entry and its callees determine which module
  // variables and functions belong to the program.
  std::set<std::string_view> used, visited;
  std::vector<const syntax::Function *> pending{&entry};
  while (!pending.empty()) {
    const syntax::Function *function = pending.back();
    pending.pop_back();
    if (!visited.insert(function->name).second)
      continue;
    std::set<std::string_view> names;
    collectNames(function->body, names);
    for (std::string_view name : names)
      if (const syntax::Function *callee = findFunction(name))
        pending.push_back(callee);
    used.merge(names);
  }
  symbols.push();
  for (const syntax::Variable &variable : module.variables)
    if (used.count(variable.name))
      symbols.declare(variable.name,
                      variable.space == syntax::Variable::Space::Shared
                          ? placeShared(variable)
                          : moduleSymbol(variable));
  Code *code = codeOf(entry);
  program->entry = code;
  for (const syntax::Function &function : module.functions) {
    if (function.isEntry || !used.count(function.name) || function.isPrototype)
      continue;
    Symbol symbol;
    symbol.kind = Symbol::Kind::Function;
    symbol.index = numberOf(function);
    symbols.declare(function.name, symbol);
  }
  while (!work.empty()) {
    const syntax::Function *function = work.back();
    work.pop_back();
    FunctionDecoder(*this, *function, *program->codes[function]).decode();
  }
  measureStack();
  return std::move(program);
}

std::unique_ptr<Program> ptxsim::decode(const syntax::Module &module,
                                        const syntax::Function &entry,
                                        const Registry &registry) {
  return ProgramBuilder(module, registry).build(entry);
}
