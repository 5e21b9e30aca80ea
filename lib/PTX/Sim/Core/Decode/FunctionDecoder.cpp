//===- FunctionDecoder.cpp - One function from tree to code -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionDecoder.h"

#include "Targets.h"

using namespace ptxsim;
using SyntaxKind = syntax::Operand::Kind;

FunctionDecoder::FunctionDecoder(ProgramBuilder &builder,
                                 const syntax::Function &function, Code &code)
    : OperandDecoder(builder, code), function(function),
      declarations(builder, function, code) {}

void FunctionDecoder::decode() {
  builder.symbols.push();
  code.function = &function;
  declarations.declareFormals();
  decodeBlock(function.body);
  builder.symbols.pop();
  Instruction end;
  end.handler = function.isEntry ? executeExit : executeRet;
  end.opcode = "ret";
  emit(end, {false, {}});
  finish();
}

void FunctionDecoder::decodeBlock(const syntax::Block &block) {
  builder.symbols.push();
  declarations.declareBlock(block);
  for (const syntax::Statement &statement : block)
    decodeStatement(statement);
  builder.symbols.pop();
}

void FunctionDecoder::decodeStatement(const syntax::Statement &statement) {
  using Kind = syntax::Statement::Kind;
  switch (statement.kind) {
  case Kind::Label:
    declarations
        .labels[builder.symbols.find(statement.label, code.rows)->index] =
        uint32_t(code.instructions.size());
    break;
  case Kind::Loc:
    sourceFile = statement.file;
    sourceLine = statement.fileLine;
    break;
  case Kind::Scope:
    decodeBlock(*statement.scope);
    break;
  case Kind::Instruction:
    decodeInstruction(statement.instruction);
    break;
  default:
    break;
  }
}

/// Throws where the module's .target lacks the instruction.
static void requireTarget(const syntax::Instruction &text,
                          std::string_view target) {
  std::string why = missingTarget(text, target);
  if (!why.empty())
    throw Error(Error::Kind::Unsupported,
                "line " + std::to_string(text.line) + ": '" +
                    std::string(text.opcode) +
                    "' is not in the module's target: " + why,
                text.line);
}

void FunctionDecoder::decodeInstruction(const syntax::Instruction &text) {
  instruction = &text;
  reads.clear();
  Instruction inst;
  inst.line = text.line;
  inst.opcode = text.opcode;
  Flow next;
  try {
    if (!text.guard.empty()) {
      syntax::Operand guard;
      guard.kind = SyntaxKind::Name;
      guard.name = text.guard;
      expectType(guard, Type::Pred);
      inst.guard = source(guard, Type::Pred);
      inst.guardNegated = text.guardNegated;
    }
    if (decodeControl(inst, next)) {
      next.fallsThrough |= inst.guard.valid();
    } else if (DecodeFunction decode = builder.registry.find(text.opcode)) {
      decode(*this, inst);
    } else if (const scalar::Form *form = scalar::find(text.opcode)) {
      decodeScalar(*this, inst, *form);
    } else {
      unsupported("no such form is known");
    }
    requireTarget(text, target());
  } catch (const Error &error) {
    deferred.push_back({uint32_t(code.instructions.size()), error});
    inst.handler = executeTrap;
  }
  emit(inst, std::move(next), reads);
}

void FunctionDecoder::finish() {
  for (auto [at, label] : branches) {
    code.instructions[at].target = declarations.labels[label];
    flow[at].targets = {declarations.labels[label]};
  }
  for (auto &[at, targets] : manyBranches) {
    for (uint32_t label : targets->labels)
      targets->pcs.push_back(declarations.labels[label]);
    flow[at].targets = targets->pcs;
  }
  std::vector<bool> reachable = analyzeFlow(flow, code.instructions);
  for (auto &[at, error] : deferred)
    if (reachable[at])
      throw error;
}
