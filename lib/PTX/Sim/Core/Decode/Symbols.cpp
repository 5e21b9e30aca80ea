//===- Symbols.cpp - Lexical scopes of the decoder --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Symbols.h"

#include "fmha/PTX/Syntax/Parser.h"

#include <algorithm>
#include <charconv>

using namespace ptxsim;

std::optional<Symbol> SymbolTable::find(std::string_view name, uint32_t &rows) {
  size_t stem = name.size();
  while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9')
    --stem;
  uint64_t number = 0;
  if (stem < name.size())
    std::from_chars(name.data() + stem, name.data() + name.size(), number);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    auto found = scope->names.find(name);
    if (found != scope->names.end())
      return found->second;
    if (stem == name.size())
      continue;
    auto range = scope->ranges.find(name.substr(0, stem));
    if (range == scope->ranges.end())
      continue;
    Symbol symbol;
    symbol.bits = range->second.bits;
    symbol.of = range->second.of;
    auto [row, fresh] = range->second.rows.insert({number, rows});
    if (fresh)
      rows += rowsOf(symbol.bits);
    symbol.index = row->second;
    return symbol;
  }
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 2 != name.size() || name[0] == '.')
    return std::nullopt;
  // An element of a vector register: v.x.
  std::optional<Symbol> vector = find(name.substr(0, dot), rows);
  size_t element = std::string_view("xyzwrgba").find(name.back());
  if (!vector || vector->kind != Symbol::Kind::Register ||
      element == std::string_view::npos || element % 4 >= vector->elements)
    return std::nullopt;
  vector->index += uint32_t(element % 4) * rowsOf(vector->bits);
  vector->elements = 1;
  return vector;
}

/// Returns the class of a declared type. A register declared .f16x2 holds bits.
RegisterType::Class ptxsim::classOf(std::string_view type) {
  using Class = RegisterType::Class;
  bool isFloat = type == "f16" || type == "f32" || type == "f64";
  bool isInteger = type[0] == 'u' || type[0] == 's';
  return isFloat ? Class::Float : isInteger ? Class::Integer : Class::Bits;
}

uint64_t ptxsim::sizeOf(const syntax::Variable &variable) {
  uint64_t bits = syntax::typeBits(variable.type);
  return (bits + 7) / 8 * variable.vector * variable.elements();
}

uint32_t ptxsim::alignOf(const syntax::Variable &variable) {
  uint32_t natural =
      (syntax::typeBits(variable.type) + 7) / 8 * variable.vector;
  return std::max(variable.align, std::max(natural, 1u));
}

Type ptxsim::typeOf(std::string_view name) {
  static const std::unordered_map<std::string_view, Type> kTypes = {
      {"pred", Type::Pred},   {"b8", Type::B8},         {"b16", Type::B16},
      {"b32", Type::B32},     {"b64", Type::B64},       {"b128", Type::B128},
      {"u8", Type::U8},       {"u16", Type::U16},       {"u32", Type::U32},
      {"u64", Type::U64},     {"s8", Type::S8},         {"s16", Type::S16},
      {"s32", Type::S32},     {"s64", Type::S64},       {"f16", Type::F16},
      {"bf16", Type::BF16},   {"f32", Type::F32},       {"f64", Type::F64},
      {"f16x2", Type::F16x2}, {"bf16x2", Type::BF16x2}, {"f32x2", Type::F32x2},
      {"tf32", Type::TF32}};
  auto found = kTypes.find(name);
  return found == kTypes.end() ? Type::None : found->second;
}
