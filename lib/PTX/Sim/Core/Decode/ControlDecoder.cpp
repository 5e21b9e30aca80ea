//===- ControlDecoder.cpp - Branches, calls and returns from the tree -----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionDecoder.h"

#include "fmha/PTX/Syntax/Parser.h"

using namespace ptxsim;
using SyntaxKind = syntax::Operand::Kind;

bool FunctionDecoder::decodeControl(Instruction &inst, Flow &next) {
  std::string_view root = text().parts[0];
  if (root == "bra") {
    decodeBranch(inst, next);
  } else if (root == "brx") {
    decodeBranchMany(inst, next);
  } else if (root == "call") {
    decodeCall(inst);
  } else if (root == "ret" || root == "exit") {
    bool leaves = root == "exit" || function.isEntry;
    inst.handler = leaves ? executeExit : executeRet;
    next.fallsThrough = false;
  } else if (root == "trap") {
    inst.handler = executeTrap;
    next.fallsThrough = false;
  } else {
    return false;
  }
  return true;
}

void FunctionDecoder::decodeBranch(Instruction &inst, Flow &next) {
  expectModifiers({"uni"});
  expectOperands(1, 1);
  inst.handler = executeBranch;
  next.fallsThrough = false;
  branches.push_back(
      {uint32_t(code.instructions.size()), lookup(operand(0)).index});
}

void FunctionDecoder::decodeBranchMany(Instruction &inst, Flow &next) {
  expectModifiers({"idx", "uni"});
  expectOperands(2, 2);
  inst.src = keep({source(0, Type::U32)});
  Symbol list = lookup(operand(1));
  if (list.kind != Symbol::Kind::Targets)
    unsupported("expected the label of a .branchtargets list");
  auto targets = std::make_shared<BranchTargets>();
  targets->labels = declarations.targetLists[list.index];
  inst.payload = targets.get();
  own(targets);
  inst.handler = executeBranchMany;
  next.fallsThrough = false;
  manyBranches.push_back({uint32_t(code.instructions.size()), targets});
}

Slot FunctionDecoder::callSlot(const syntax::Operand &operand, Operand &row) {
  Slot slot;
  row = {};
  if (operand.kind == SyntaxKind::Name) {
    Symbol symbol = lookup(operand);
    if (symbol.kind == Symbol::Kind::Local) {
      slot.offset = symbol.index;
      slot.bytes = uint32_t(sizeOf(*symbol.variable));
      return slot;
    }
  }
  // Immediates of calls carry no type; 64 bits hold every integer immediate.
  unsigned bits = registerBits(operand);
  slot.inRegisters = true;
  slot.rows = rowsOf(bits);
  row = source(operand, bits == 1 ? Type::Pred : Type::B64);
  slot.row = row.code;
  return slot;
}

void FunctionDecoder::decodeCallee(CallData &call, Instruction &inst,
                                   const syntax::Operand &callee) {
  if (callee.kind != SyntaxKind::Name)
    unsupported("expected a function or register as the callee");
  const syntax::Function *target = builder.findFunction(callee.name);
  if (!target) {
    inst.src = keep({source(callee, Type::B64)});
    return;
  }
  if (!target->isPrototype) {
    call.callee = builder.codeOf(*target);
    return;
  }
  if (callee.name == "vprintf")
    call.external = CallData::Extern::Printf;
  else if (callee.name == "__assertfail")
    call.external = CallData::Extern::AssertFail;
  else
    unsupported("function " + std::string(callee.name) + " has no body");
}

void FunctionDecoder::decodeCall(Instruction &inst) {
  expectModifiers({"uni"});
  CallData call;
  size_t at = 0;
  Operand row;
  if (size() > 1 && operand(0).kind == SyntaxKind::List) {
    for (const syntax::Operand &result : operand(0).elements)
      call.results.push_back(callSlot(result, row));
    at = 1;
  }
  decodeCallee(call, inst, operand(at));
  if (size() > at + 1 && operand(at + 1).kind == SyntaxKind::List)
    for (const syntax::Operand &argument : operand(at + 1).elements) {
      call.arguments.push_back(callSlot(argument, row));
      call.argumentRows.push_back(row);
    }
  if (call.callee) {
    const syntax::Function &target = *call.callee->function;
    if (target.parameters.size() != call.arguments.size() ||
        target.results.size() != call.results.size())
      unsupported("expected " + std::to_string(target.parameters.size()) +
                  " arguments and " + std::to_string(target.results.size()) +
                  " results, got " + std::to_string(call.arguments.size()) +
                  " and " + std::to_string(call.results.size()));
  }
  inst.payload = payload(std::move(call));
  inst.handler = executeCall;
}
