//===- OperandDecoder.cpp - Rows of the operands of a function ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperandDecoder.h"

#include <bit>

using namespace ptxsim;
using SyntaxKind = syntax::Operand::Kind;

void OperandDecoder::own(std::shared_ptr<const void> payload) {
  builder.program->payloads.push_back(std::move(payload));
}

std::span<const Operand>
OperandDecoder::keep(const std::vector<Operand> &rows) {
  return builder.program->arena.emplace_back(rows);
}

Instruction &OperandDecoder::emit(Instruction inst, Flow next,
                                  const std::vector<Operand> &reads) {
  inst.sourceFile = sourceFile;
  inst.sourceLine = sourceLine;
  code.instructions.push_back(inst);
  code.reads.push_back(reads.empty() ? std::span<const Operand>()
                                     : keep(reads));
  flow.push_back(std::move(next));
  return code.instructions.back();
}

void OperandDecoder::emitHelper(Handler handler, Operand dst, Operand src,
                                const void *payload) {
  Instruction helper;
  helper.handler = handler;
  helper.dst = keep({dst});
  helper.src = src.valid() ? keep({src}) : std::span<const Operand>();
  helper.payload = payload;
  helper.line = instruction->line;
  helper.opcode = instruction->opcode;
  emit(helper, {}, {helper.src.begin(), helper.src.end()});
}

Symbol OperandDecoder::lookup(const syntax::Operand &operand) {
  std::optional<Symbol> symbol = builder.symbols.find(operand.name, code.rows);
  if (!symbol)
    unsupported("expected a register or symbol, got '" +
                std::string(operand.name) + "'");
  return *symbol;
}

RegisterType
OperandDecoder::registerType(const syntax::Operand &operand) const {
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

Operand OperandDecoder::addressOfSymbol(const Symbol &symbol,
                                        std::string_view name, int64_t offset) {
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
Operand OperandDecoder::registerPlus(const Symbol &symbol,
                                     const syntax::Operand &operand,
                                     Type type) {
  bool isInteger = type == Type::None || !isFloat(type);
  if (operand.negated || operand.minus || symbol.bits > 64 || !isInteger)
    unsupported("expected a constant added to a register only where an integer "
                "of at most 64 bits is read");
  Operand sum = scratch();
  emitHelper(executeAddConstant, sum, {symbol.index},
             payload(AddedConstant{uint64_t(operand.offset), symbol.bits}));
  return sum;
}

Operand OperandDecoder::source(const syntax::Operand &operand, Type type) {
  Operand row = sourceRow(operand, type);
  if (!row.isConstant())
    reads.push_back(row);
  return row;
}

Operand OperandDecoder::sourceRow(const syntax::Operand &operand, Type type) {
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

Operand OperandDecoder::destination(const syntax::Operand &operand) {
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

void OperandDecoder::appendRows(std::vector<Operand> &rows,
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
      if (isSource)
        reads.insert(reads.end(), rows.end() - count, rows.end());
      return;
    }
  }
  // The sink of a 128-bit value takes two rows; others ignore the second.
  rows.push_back(isSource ? source(operand, type) : destination(operand));
}

std::span<const Operand> OperandDecoder::sourceRows(size_t index, Type type) {
  std::vector<Operand> rows;
  appendRows(rows, operand(index), type, true);
  return keep(rows);
}

std::span<const Operand> OperandDecoder::destinationRows(size_t index) {
  std::vector<Operand> rows;
  appendRows(rows, operand(index), Type::None, false);
  return keep(rows);
}

AddressOperand OperandDecoder::address(size_t index, Space space) {
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
    reads.push_back(result.base);
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

std::vector<Operand> OperandDecoder::coordinates(size_t index) {
  std::vector<Operand> rows;
  const syntax::Operand &whole = operand(index);
  if (whole.kind != SyntaxKind::Address || whole.elements.size() < 2)
    unsupported("expected [map, {coordinates}] as operand " +
                std::to_string(index + 1));
  expectType(whole.elements[1], Type::S32);
  appendRows(rows, whole.elements[1], Type::S32, true);
  return rows;
}
