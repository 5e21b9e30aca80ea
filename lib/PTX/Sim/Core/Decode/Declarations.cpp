//===- Declarations.cpp - Variables and labels of a function --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Declarations.h"

#include "fmha/PTX/Syntax/Parser.h"

using namespace ptxsim;

/// Maximum size of an entry's parameters in total (PTX ISA 7.1, since 8.1).
static constexpr uint64_t kParameterLimit = 32764;

uint32_t Declarations::allocateLocal(const syntax::Variable &variable) {
  // An align of 16 lets every vector access of a struct be aligned.
  uint32_t align = std::max(alignOf(variable), 16u);
  code.localBytes = (code.localBytes + align - 1) / align * align;
  uint32_t offset = code.localBytes;
  // A declaration holds less than 2^24 bytes: the sum does not wrap.
  code.localBytes += uint32_t(sizeOf(variable));
  if (code.localBytes > kLocalLimit)
    throw Error(Error::Kind::Launch,
                "expected at most " + std::to_string(kLocalLimit) +
                    " bytes of local memory per thread, got " +
                    std::to_string(code.localBytes) + " with '" +
                    std::string(variable.name) + "'",
                variable.line);
  return offset;
}

Slot Declarations::declareFormal(const syntax::Variable &variable,
                                 uint32_t &bankOffset) {
  Slot slot;
  Symbol symbol;
  symbol.variable = &variable;
  if (variable.space == syntax::Variable::Space::Reg) {
    symbol.bits = uint16_t(syntax::typeBits(variable.type));
    symbol.of = classOf(variable.type);
    slot.inRegisters = true;
    slot.rows = rowsOf(symbol.bits);
    slot.row = symbol.index = code.rows;
    code.rows += slot.rows;
  } else {
    slot.bytes = uint32_t(sizeOf(variable));
    symbol.kind =
        function.isEntry ? Symbol::Kind::EntryParam : Symbol::Kind::Local;
    if (function.isEntry) {
      uint64_t align = alignOf(variable);
      uint64_t begin = (bankOffset + align - 1) / align * align;
      if (begin + slot.bytes > kParameterLimit)
        throw Error(Error::Kind::Launch,
                    "expected at most " + std::to_string(kParameterLimit) +
                        " bytes of parameters, got " +
                        std::to_string(begin + slot.bytes) + " with '" +
                        std::string(variable.name) + "'",
                    variable.line);
      symbol.index = uint32_t(begin);
      bankOffset = uint32_t(begin) + slot.bytes;
    } else {
      symbol.index = allocateLocal(variable);
    }
    slot.offset = symbol.index;
  }
  builder.symbols.declare(variable.name, symbol);
  return slot;
}

void Declarations::declareFormals() {
  uint32_t bank = 0;
  for (const syntax::Variable &variable : function.results)
    code.results.push_back(declareFormal(variable, bank));
  for (const syntax::Variable &variable : function.parameters)
    code.parameters.push_back(declareFormal(variable, bank));
  if (function.isEntry)
    builder.program->parameterBytes = bank;
}

void Declarations::declareVariable(const syntax::Variable &variable) {
  using Space = syntax::Variable::Space;
  Symbol symbol;
  symbol.variable = &variable;
  uint16_t bits = uint16_t(syntax::typeBits(variable.type));
  switch (variable.space) {
  case Space::Reg:
    if (variable.rangeCount)
      return builder.symbols.declareRange(variable.name, bits,
                                          classOf(variable.type));
    symbol.bits = bits;
    symbol.of = classOf(variable.type);
    symbol.elements = uint16_t(variable.vector);
    symbol.index = code.rows;
    code.rows += rowsOf(bits) * variable.vector;
    break;
  case Space::Local:
  case Space::Param:
    symbol.kind = Symbol::Kind::Local;
    symbol.index = allocateLocal(variable);
    break;
  case Space::Shared:
    symbol = builder.placeShared(variable);
    break;
  default:
    symbol = builder.moduleSymbol(variable);
  }
  builder.symbols.declare(variable.name, symbol);
}

void Declarations::declareBlock(const syntax::Block &block) {
  for (const syntax::Statement &statement : block) {
    for (const syntax::Variable &variable : statement.variables)
      declareVariable(variable);
    Symbol symbol;
    if (statement.kind == syntax::Statement::Kind::Label) {
      symbol.kind = Symbol::Kind::Label;
      symbol.index = uint32_t(labels.size());
      labels.push_back(UINT32_MAX);
      builder.symbols.declare(statement.label, symbol);
    }
  }
  // Target lists name labels, so they are decoded after all labels.
  for (const syntax::Statement &statement : block) {
    if (statement.kind != syntax::Statement::Kind::BranchTargets)
      continue;
    Symbol symbol;
    symbol.kind = Symbol::Kind::Targets;
    symbol.index = uint32_t(targetLists.size());
    targetLists.emplace_back();
    for (std::string_view name : statement.targets)
      targetLists.back().push_back(
          builder.symbols.find(name, code.rows)->index);
    builder.symbols.declare(statement.label, symbol);
  }
}
