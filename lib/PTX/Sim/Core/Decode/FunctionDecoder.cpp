//===- FunctionDecoder.cpp - One function from tree to code -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionDecoder.h"

#include "Targets.h"
#include "fmha/PTX/Syntax/Parser.h"

#include <bit>

using namespace ptxsim;
using SyntaxKind = syntax::Operand::Kind;

FunctionDecoder::FunctionDecoder(ProgramBuilder &builder,
                                 const syntax::Function &function, Code &code)
    : builder(builder), function(function), code(code) {}

void FunctionDecoder::own(std::shared_ptr<const void> payload) {
  builder.program->payloads.push_back(std::move(payload));
}

std::span<const Operand>
FunctionDecoder::keep(const std::vector<Operand> &rows) {
  return builder.program->arena.emplace_back(rows);
}

/// Maximum size of an entry's parameters in total (PTX ISA 7.1, since 8.1).
static constexpr uint64_t kParameterLimit = 32764;

uint32_t FunctionDecoder::allocateLocal(const syntax::Variable &variable) {
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

Slot FunctionDecoder::declareFormal(const syntax::Variable &variable,
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

void FunctionDecoder::declareFormals() {
  uint32_t bank = 0;
  for (const syntax::Variable &variable : function.results)
    code.results.push_back(declareFormal(variable, bank));
  for (const syntax::Variable &variable : function.parameters)
    code.parameters.push_back(declareFormal(variable, bank));
  if (function.isEntry)
    builder.program->parameterBytes = bank;
}

void FunctionDecoder::declareVariable(const syntax::Variable &variable) {
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

void FunctionDecoder::declareBlock(const syntax::Block &block) {
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

void FunctionDecoder::decode() {
  builder.symbols.push();
  code.function = &function;
  declareFormals();
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
  declareBlock(block);
  for (const syntax::Statement &statement : block)
    decodeStatement(statement);
  builder.symbols.pop();
}

void FunctionDecoder::decodeStatement(const syntax::Statement &statement) {
  using Kind = syntax::Statement::Kind;
  switch (statement.kind) {
  case Kind::Label:
    labels[builder.symbols.find(statement.label, code.rows)->index] =
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

Instruction &FunctionDecoder::emit(Instruction inst, Flow next) {
  inst.sourceFile = sourceFile;
  inst.sourceLine = sourceLine;
  code.instructions.push_back(inst);
  flow.push_back(std::move(next));
  return code.instructions.back();
}

void FunctionDecoder::emitHelper(Handler handler, Operand dst, Operand src,
                                 const void *payload) {
  Instruction helper;
  helper.handler = handler;
  helper.dst = keep({dst});
  helper.src = src.valid() ? keep({src}) : std::span<const Operand>();
  helper.payload = payload;
  helper.line = instruction->line;
  helper.opcode = instruction->opcode;
  emit(helper);
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
  emit(inst, std::move(next));
}

void FunctionDecoder::finish() {
  for (auto [at, label] : branches) {
    code.instructions[at].target = labels[label];
    flow[at].targets = {labels[label]};
  }
  for (auto &[at, targets] : manyBranches) {
    for (uint32_t label : targets->labels)
      targets->pcs.push_back(labels[label]);
    flow[at].targets = targets->pcs;
  }
  std::vector<bool> reachable = analyseFlow(flow, code.instructions);
  for (auto &[at, error] : deferred)
    if (reachable[at])
      throw error;
}

Symbol FunctionDecoder::lookup(const syntax::Operand &operand) {
  std::optional<Symbol> symbol = builder.symbols.find(operand.name, code.rows);
  if (!symbol)
    unsupported("expected a register or symbol, got '" +
                std::string(operand.name) + "'");
  return *symbol;
}

RegisterType
FunctionDecoder::registerType(const syntax::Operand &operand) const {
  if (operand.kind != SyntaxKind::Name)
    return {};
  std::optional<Symbol> symbol = builder.symbols.find(operand.name, code.rows);
  if (!symbol || symbol->kind != Symbol::Kind::Register)
    return {};
  return {symbol->bits, symbol->elements, symbol->of};
}

namespace {

bool isFloat32(Type type) { return type == Type::F32 || type == Type::TF32; }

bool isFloat(Type type) {
  return isFloat32(type) || type == Type::F64 || type == Type::F16 ||
         type == Type::BF16 || type == Type::F16x2 || type == Type::BF16x2;
}

/// Returns the bits of an immediate read as `type`.
uint64_t immediateBits(const syntax::Operand &operand, Type type) {
  if (type == Type::Pred)
    return operand.bits != 0;
  if (operand.kind == SyntaxKind::Float) {
    bool wide = operand.floatBits == 64;
    unsigned bits = scalar::bitWidth(type);
    if (wide && bits == 32)
      return std::bit_cast<uint32_t>(
          float(std::bit_cast<double>(operand.bits)));
    if (!wide && bits == 64 && type == Type::F64)
      return std::bit_cast<uint64_t>(
          double(std::bit_cast<float>(uint32_t(operand.bits))));
    return operand.bits & lowBits(bits);
  }
  if (isFloat32(type))
    return std::bit_cast<uint32_t>(float(int64_t(operand.bits)));
  if (type == Type::F64)
    return std::bit_cast<uint64_t>(double(int64_t(operand.bits)));
  return operand.bits & lowBits(std::min(64u, scalar::bitWidth(type)));
}

} // namespace

Operand FunctionDecoder::addressOfSymbol(const Symbol &symbol,
                                         std::string_view name,
                                         int64_t offset) {
  using Kind = Symbol::Kind;
  switch (symbol.kind) {
  case Kind::Shared:
    return builder.relocated(Relocation::Kind::Shared, "",
                             symbol.index + uint64_t(offset));
  case Kind::DynamicShared:
    return builder.relocated(Relocation::Kind::DynamicShared, "",
                             uint64_t(offset));
  case Kind::Global:
    return builder.relocated(Relocation::Kind::Global, name, uint64_t(offset));
  case Kind::EntryParam:
  case Kind::Function:
    return constant(symbol.index + uint64_t(offset));
  case Kind::Local: {
    Operand row = scratch();
    emitHelper(executeLocalAddress, row, {},
               payload<uint64_t>(symbol.index + uint64_t(offset)));
    return row;
  }
  default:
    unsupported("'" + std::string(name) + "' has no address");
  }
}

/// Decodes "%rd1+512" outside of brackets. The manual has no such operand.
/// ptxas 13.0 accepts it where an integer is read, including descriptors of
/// tcgen05.mma, and its SASS adds.
Operand FunctionDecoder::registerPlus(const Symbol &symbol,
                                      const syntax::Operand &operand,
                                      Type type) {
  bool isInteger = type == Type::None || !isFloat(type);
  if (operand.negated || operand.minus || symbol.bits > 64 || !isInteger)
    unsupported("expected a constant beside a register only where an integer "
                "of at most 64 bits is read");
  Operand sum = scratch();
  emitHelper(executeAddConstant, sum, {symbol.index},
             payload(AddedConstant{uint64_t(operand.offset), symbol.bits}));
  return sum;
}

Operand FunctionDecoder::source(const syntax::Operand &operand, Type type) {
  if (operand.kind == SyntaxKind::Integer || operand.kind == SyntaxKind::Float)
    return constant(immediateBits(operand, type));
  if (operand.kind != SyntaxKind::Name)
    unsupported("expected a register or constant as a source");
  if (operand.name == "WARP_SZ")
    return constant(32);
  std::optional<Symbol> symbol = builder.symbols.find(operand.name, code.rows);
  if (!symbol) {
    const SpecialRegister *special = findSpecial(operand.name);
    if (!special)
      unsupported("special register " + std::string(operand.name) +
                  " is not known");
    Operand row = scratch();
    emitHelper(executeReadSpecial, row, {}, special);
    return row;
  }
  if (symbol->kind != Symbol::Kind::Register)
    return addressOfSymbol(*symbol, operand.name, operand.offset);
  Operand row{symbol->index};
  if (operand.offset)
    return registerPlus(*symbol, operand, type);
  if (!operand.negated && !operand.minus)
    return row;
  Operand result = scratch();
  emitHelper(operand.negated ? executeNot : executeNegate, result, row,
             payload(type));
  return result;
}

Operand FunctionDecoder::destination(const syntax::Operand &operand) {
  if (operand.kind == SyntaxKind::Sink)
    return scratch();
  if (operand.kind != SyntaxKind::Name || operand.negated || operand.minus ||
      operand.offset)
    unsupported("expected a register as a destination");
  Symbol symbol = lookup(operand);
  if (symbol.kind != Symbol::Kind::Register)
    unsupported("expected a register as a destination, got '" +
                std::string(operand.name) + "'");
  return {symbol.index};
}

void FunctionDecoder::appendRows(std::vector<Operand> &rows,
                                 const syntax::Operand &operand, Type type,
                                 bool isSource) {
  if (operand.kind == SyntaxKind::Vector || operand.kind == SyntaxKind::Pair) {
    for (const syntax::Operand &element : operand.elements)
      appendRows(rows, element, type, isSource);
    return;
  }
  if (operand.kind == SyntaxKind::Name && !operand.negated && !operand.minus &&
      !operand.offset) {
    std::optional<Symbol> symbol =
        builder.symbols.find(operand.name, code.rows);
    if (symbol && symbol->kind == Symbol::Kind::Register) {
      uint32_t count = symbol->elements * rowsOf(symbol->bits);
      for (uint32_t i = 0; i < count; ++i)
        rows.push_back({symbol->index + i});
      return;
    }
  }
  // The sink of a 128-bit value takes two rows; others ignore the second.
  rows.push_back(isSource ? source(operand, type) : destination(operand));
}

std::span<const Operand> FunctionDecoder::sourceRows(size_t index, Type type) {
  std::vector<Operand> rows;
  appendRows(rows, operand(index), type, true);
  return keep(rows);
}

std::span<const Operand> FunctionDecoder::destinationRows(size_t index) {
  std::vector<Operand> rows;
  appendRows(rows, operand(index), Type::None, false);
  return keep(rows);
}

AddressOperand FunctionDecoder::address(size_t index, Space space) {
  const syntax::Operand &whole = operand(index);
  if (whole.kind != SyntaxKind::Address)
    unsupported("expected an address in brackets as operand " +
                std::to_string(index + 1));
  const syntax::Operand &base = whole.elements[0];
  AddressOperand result;
  result.space = space;
  if (base.kind == SyntaxKind::Integer) {
    result.offset = int64_t(base.bits);
    return result;
  }
  Symbol symbol = lookup(base);
  result.offset = base.offset;
  switch (symbol.kind) {
  case Symbol::Kind::Register:
    if (symbol.of == RegisterType::Class::Float || symbol.bits == 1 ||
        symbol.bits > 64)
      unsupported("expected an integer or bit register of at most 64 bits as "
                  "an address, got '" +
                  std::string(base.name) + "'");
    result.base = {symbol.index};
    return result;
  case Symbol::Kind::EntryParam:
    result.offset += symbol.index;
    result.space = Space::Param;
    break;
  case Symbol::Kind::Local:
    result.base = addressOfSymbol(symbol, base.name, 0);
    result.space = Space::Local;
    break;
  case Symbol::Kind::Shared:
  case Symbol::Kind::DynamicShared:
    result.base = addressOfSymbol(symbol, base.name, 0);
    result.space = Space::Shared;
    break;
  default:
    result.base = addressOfSymbol(symbol, base.name, 0);
    result.space = Space::Global;
  }
  bool fits = space == Space::Generic || space == result.space ||
              (space == Space::Const && result.space == Space::Global) ||
              (space == Space::Param && result.space == Space::Local);
  if (!fits)
    unsupported("'" + std::string(base.name) +
                "' lies in another state space than the opcode says");
  return result;
}

std::vector<Operand> FunctionDecoder::coordinates(size_t index) {
  std::vector<Operand> rows;
  const syntax::Operand &whole = operand(index);
  if (whole.kind != SyntaxKind::Address || whole.elements.size() < 2)
    unsupported("expected [map, {coordinates}] as operand " +
                std::to_string(index + 1));
  expectType(whole.elements[1], Type::S32);
  appendRows(rows, whole.elements[1], Type::S32, true);
  return rows;
}
