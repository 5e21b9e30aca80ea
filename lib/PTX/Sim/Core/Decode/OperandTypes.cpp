//===- OperandTypes.cpp - Which registers suit the type of an operand -----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.4, operand type checking, and 9.4.1, operand size exceeding the
// instruction type size. Where the manual is silent (elements of vectors,
// special registers, bf16), the rules follow ptxas 13.0.
// test/data/forms/verdicts.txt compares all of them with ptxas.
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"

#include <algorithm>
#include <array>
#include <optional>

using namespace ptxsim;
using SyntaxKind = syntax::Operand::Kind;
using Class = RegisterType::Class;

namespace {

/// The declarations that an instruction type accepts besides bits of its width.
enum class Takes { Integers, Floats, All, Nothing };

Takes takesOf(Type type) {
  switch (type) {
  case Type::U8:
  case Type::U16:
  case Type::U32:
  case Type::U64:
  case Type::S8:
  case Type::S16:
  case Type::S32:
  case Type::S64:
    return Takes::Integers;
  case Type::F16:
  case Type::F32:
  case Type::F64:
    return Takes::Floats;
  case Type::Pred:
  case Type::B8:
  case Type::B16:
  case Type::B32:
  case Type::B64:
  case Type::B128:
    return Takes::All;
  default:
    return Takes::Nothing; // Packed types, bf16, tf32: declared as bits.
  }
}

/// Returns true if the types agree as the manual defines it, widths aside.
/// Elements of a vector of floats may be integers.
bool agrees(const RegisterType &got, Type type, Fit fit) {
  Takes takes = takesOf(type);
  bool exact = got.bits == scalar::bitWidth(type);
  switch (got.of) {
  case Class::Bits:
    return true;
  case Class::Integer:
    return takes == Takes::Integers || takes == Takes::All ||
           (takes == Takes::Floats && fit.vector > 1 && exact);
  case Class::Float:
    return takes == Takes::All || (takes == Takes::Floats && exact);
  }
  return true;
}

std::string_view nameOf(Class of) {
  constexpr std::array<std::string_view, 3> kNames = {"bits", "an integer",
                                                      "a float"};
  return kNames[size_t(of)];
}

std::string declarations(Type type, unsigned bits) {
  std::string width = std::to_string(bits);
  switch (takesOf(type)) {
  case Takes::Integers:
    return ".b" + width + ", .u" + width + " or .s" + width;
  case Takes::Floats:
    return ".b" + width + " or .f" + width;
  default:
    return ".b" + width;
  }
}

void checkWidth(const TypedForm &decoder, const syntax::Operand &operand,
                RegisterType got, Type type, Fit fit) {
  unsigned wanted = scalar::bitWidth(type);
  // A vector register is read as elements of .v2 or .v4, or as one value.
  if (got.elements > 1 && got.elements != fit.vector)
    got.bits *= got.elements;
  if (got.bits != wanted && !(fit.wider && wanted > 1 && got.bits > wanted))
    decoder.unsupported("expected a register of " + std::to_string(wanted) +
                        (fit.wider ? " or more bits, got '" : " bits, got '") +
                        std::string(operand.name) + "' of " +
                        std::to_string(got.bits));
}

void checkClass(const TypedForm &decoder, const syntax::Operand &operand,
                RegisterType got, Type type, Fit fit) {
  if (!agrees(got, type, fit))
    decoder.unsupported(
        "expected a register of " + declarations(type, scalar::bitWidth(type)) +
        ", got '" + std::string(operand.name) + "', which is " +
        std::string(nameOf(got.of)) + " of " + std::to_string(got.bits) +
        " bits; mov.b" + std::to_string(got.bits) + " copies its bits");
}

/// Returns true if PTX 1 defined the register with 16 bits, or %gridid with 32;
/// it may still be read so.
bool hasNarrowForm(std::string_view name, unsigned bits) {
  constexpr std::array<std::string_view, 5> kStems = {
      "%tid.", "%ntid.", "%ctaid.", "%nctaid.", "%gridid"};
  return (bits == 16 || (bits == 32 && name == "%gridid")) &&
         std::ranges::any_of(kStems, [&](std::string_view stem) {
           return name.starts_with(stem);
         });
}

/// Checks the width of a special register: mov accepts its width, cvt also
/// accepts a wider special register.
void checkSpecial(const TypedForm &decoder, std::string_view name,
                  unsigned specialBits, Type type) {
  std::string_view root = decoder.text().parts[0];
  std::string got = ", got '" + std::string(name) + "'";
  if (root != "mov" && root != "cvt")
    decoder.unsupported("expected a register or a constant" + got +
                        ", which only mov and cvt read; put a mov in front");
  unsigned wanted = scalar::bitWidth(type);
  bool isInteger =
      takesOf(type) == Takes::Integers || takesOf(type) == Takes::All;
  constexpr std::array<std::string_view, 4> kFloats = {"f16", "bf16", "f32",
                                                       "f64"};
  isInteger =
      isInteger && std::ranges::none_of(kFloats, [&](std::string_view name) {
        return decoder.has(name);
      });
  bool fits = specialBits == wanted || hasNarrowForm(name, wanted) ||
              (root == "cvt" && specialBits > wanted && specialBits > 1);
  if (!isInteger || !fits)
    decoder.unsupported("expected a register of " + std::to_string(wanted) +
                        " bits" + got + ", which is an integer of " +
                        std::to_string(specialBits) +
                        "; read it into a register of its width");
}

/// Checks that all elements have the same width, and that together they are
/// bits if their classes differ.
void checkElements(const TypedForm &decoder, const syntax::Operand &operand,
                   Type type, Fit fit) {
  std::optional<RegisterType> joint;
  const syntax::Operand *last = nullptr;
  fit.vector = std::max(2u, unsigned(operand.elements.size()));
  for (const syntax::Operand &element : operand.elements) {
    RegisterType got = decoder.registerType(element);
    if (!got.bits) {
      decoder.expectType(element, type, fit);
      continue;
    }
    checkWidth(decoder, element, got, type, fit);
    if (joint && joint->bits != got.bits)
      decoder.unsupported("expected registers of one width in a vector, got " +
                          std::to_string(joint->bits) + " and " +
                          std::to_string(got.bits) + " bits");
    if (joint && joint->of != got.of)
      got.of = Class::Bits;
    joint = got;
    last = &element;
  }
  if (joint)
    checkClass(decoder, *last, *joint, type, fit);
}

} // namespace

void TypedForm::expectType(const syntax::Operand &operand, Type type,
                           Fit fit) const {
  if (type == Type::None)
    return;
  if (operand.kind == SyntaxKind::Pair) {
    expectType(operand.elements[0], type, fit);
    return expectType(operand.elements[1], Type::Pred);
  }
  if (operand.kind == SyntaxKind::Vector)
    return checkElements(*this, operand, type, fit);
  if (operand.kind != SyntaxKind::Name)
    return;
  if (RegisterType got = registerType(operand); got.bits) {
    checkWidth(*this, operand, got, type, fit);
    checkClass(*this, operand, got, type, fit);
  } else if (const SpecialRegister *special = findSpecial(operand.name)) {
    checkSpecial(*this, operand.name, special->bits, type);
  }
}
