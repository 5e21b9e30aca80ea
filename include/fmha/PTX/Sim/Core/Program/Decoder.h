//===- Decoder.h - From text operands to rows: the interface of families --===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A family of instructions registers a dotted prefix ("mbarrier",
// "cp.async.bulk") and a decode function. The longest registered prefix of an
// opcode is selected. The decode function reads the modifiers, checks that it
// supports exactly this form, translates the operands and sets the handler:
//
//   void decodeArrive(Decoder &decoder, Instruction &inst) {
//     decoder.expectModifiers({"arrive", "shared", "b64"});
//     inst.dst = decoder.destinations(0);
//     inst.address = decoder.address(1, Space::Shared);
//     inst.handler = executeArrive;
//   }
//   registry.add("mbarrier.arrive", decodeArrive);
//
// InstructionForm::unsupported throws; its message names the line and the form.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_PROGRAM_DECODER_H
#define FMHA_PTX_SIM_CORE_PROGRAM_DECODER_H

#include "fmha/PTX/Sim/Core/Program/Instruction.h"
#include "fmha/PTX/Sim/Simulator.h"
#include "fmha/PTX/Syntax/AST.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim {

/// The declared type of a register.
struct RegisterType {
  enum class Class : uint8_t { Bits, Integer, Float };
  /// Bits of an element (pred: 1); 0 if the operand is not a register.
  unsigned bits = 0, elements = 1;
  Class of = Class::Bits;
};

/// Registers that suit the type of an operand, in addition to registers of
/// exactly that type.
struct Fit {
  /// Registers may be wider than the type: ld, st, and most of cvt.
  bool wider = false;
  /// The elements of .v2, .v4, .v8.
  unsigned vector = 1;
};

/// The text of an instruction: its modifiers and operands.
class InstructionForm {
public:
  const syntax::Instruction &text() const { return *instruction; }
  /// Throws Error::Unsupported: the form does not exist or is not executed.
  [[noreturn]] void unsupported(const std::string &why) const;
  /// Throws unless the instruction has between `low` and `high` operands.
  void expectOperands(size_t low, size_t high) const;
  /// Throws if the opcode has a part (after the first) not among `known`.
  void expectModifiers(std::initializer_list<std::string_view> known) const;
  /// Returns the memory order given by .relaxed, .acquire, .release, .acq_rel,
  /// .sc, .volatile and the scope, on top of `implied`, the order of the bare
  /// instruction.
  race::Ordering ordering(race::Ordering implied) const;
  bool has(std::string_view modifier) const { return text().has(modifier); }
  size_t size() const { return text().operands.size(); }
  const syntax::Operand &operand(size_t index) const;
  bool isSink(size_t index) const {
    return operand(index).kind == syntax::Operand::Kind::Sink;
  }
  bool isImmediate(size_t index) const;
  /// Returns the integer immediate of an operand that must be an immediate (or
  /// a .b32 constant).
  uint64_t immediate(size_t index) const;

protected:
  const syntax::Instruction *instruction = nullptr;
};

/// The declared types of an instruction's registers.
class TypedForm : public InstructionForm {
public:
  /// Throws unless the registers of an operand suit the type (PTX ISA 9.4,
  /// operand type checking): the same width, and both bits, both integers or
  /// both floats. The second of `d|p` is a predicate. Type::None is not
  /// checked.
  void expectType(const syntax::Operand &operand, Type type,
                  Fit fit = {}) const;
  void expectType(size_t index, Type type, Fit fit = {}) const {
    expectType(operand(index), type, fit);
  }
  /// Throws unless each element of a vector suits the type on its own. As a
  /// vector, ld and st accept integers for floats.
  void expectEach(size_t index, Type type) const {
    for (const syntax::Operand &element : operand(index).elements)
      expectType(element, type);
  }
  /// Throws unless the cache policy of .L2::cache_hint suits, if the form has
  /// one.
  void expectCacheHint(size_t index) const {
    if (has("L2::cache_hint"))
      expectType(index, Type::U64);
  }
  /// Throws unless an address of tensor memory in brackets has 32 bits.
  void expectTmemAddress(size_t index) const {
    if (operand(index).kind == syntax::Operand::Kind::Address)
      expectType(operand(index).elements[0], Type::U32);
  }
  virtual RegisterType registerType(const syntax::Operand &operand) const = 0;
  /// Returns the declared width of a register operand in bits (pred: 1), or 0
  /// if it is not a register.
  unsigned registerBits(const syntax::Operand &operand) const {
    RegisterType type = registerType(operand);
    return type.bits * type.elements;
  }

protected:
  ~TypedForm() = default;
};

/// The rows that an instruction reads and writes.
class Decoder : public TypedForm {
public:
  virtual ~Decoder() = default;
  /// Returns a register, or an immediate as a constant row of the type. An
  /// instruction inserted before this one computes `!p` and `-r`.
  virtual Operand source(const syntax::Operand &operand, Type type) = 0;
  /// Returns a register; `_` gives a scratch row.
  virtual Operand destination(const syntax::Operand &operand) = 0;
  /// Returns the rows of operand `index`, a single value or a vector. A 128-bit
  /// register gives two rows; `d|p` gives d, then p.
  virtual std::span<const Operand> sourceRows(size_t index, Type type) = 0;
  virtual std::span<const Operand> destinationRows(size_t index) = 0;
  /// Returns the same rows after checking that the registers suit the type.
  std::span<const Operand> sources(size_t index, Type type, Fit fit = {}) {
    expectType(index, type, fit);
    return sourceRows(index, type);
  }
  std::span<const Operand> destinations(size_t index, Type type, Fit fit = {}) {
    expectType(index, type, fit);
    return destinationRows(index);
  }
  Operand source(size_t index, Type type) {
    expectType(index, type);
    return source(operand(index), type);
  }
  /// Returns the memory operand `[...]` at `index`; the opcode gives `space`.
  /// The space of a symbol is checked against it.
  virtual AddressOperand address(size_t index, Space space) = 0;
  /// Returns the coordinates of `[map, {c0, c1, ...}]`, element 1 of the
  /// operand.
  virtual std::vector<Operand> coordinates(size_t index) = 0;
  /// Returns a new scratch row of the current function.
  virtual Operand scratch() = 0;
  /// Returns a constant row with `value` in all lanes.
  virtual Operand constant(uint64_t value) = 0;
  /// Copies rows into the program's arena.
  virtual std::span<const Operand> keep(const std::vector<Operand> &rows) = 0;
  /// Transfers a payload to the program, which owns it.
  template <typename T> const T *payload(T value) {
    auto owned = std::make_shared<const T>(std::move(value));
    const T *raw = owned.get();
    own(std::move(owned));
    return raw;
  }
  /// Returns the module's target, for example "sm_100a".
  virtual std::string_view target() const = 0;

protected:
  virtual void own(std::shared_ptr<const void> payload) = 0;
};

using DecodeFunction = void (*)(Decoder &decoder, Instruction &inst);

/// Prefix of the dotted opcode -> decode function.
class Registry {
public:
  void add(std::string_view prefix, DecodeFunction decode);
  /// Returns the function of the longest matching prefix, or null. Prefixes end
  /// at a dot.
  DecodeFunction find(std::string_view opcode) const;

private:
  std::map<std::string, DecodeFunction, std::less<>> table;
};

/// Registers control flow, memory, collectives and named barriers (this
/// library).
void registerCore(Registry &registry);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_PROGRAM_DECODER_H
