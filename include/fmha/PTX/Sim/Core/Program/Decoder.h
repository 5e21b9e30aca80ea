//===- Decoder.h - From text operands to rows: what families see ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A family of instructions registers a dotted prefix ("mbarrier",
// "cp.async.bulk") and a decode function. The longest registered prefix of an
// opcode decides. The decode function reads the modifiers, checks that it
// supports exactly this form, translates the operands and fills the handler:
//
//   void decodeArrive(Decoder &decoder, Instruction &inst) {
//     decoder.expectModifiers({"arrive", "shared", "b64"});
//     inst.dst = decoder.destinations(0);
//     inst.address = decoder.address(1, Space::Shared);
//     inst.handler = executeArrive;
//   }
//   registry.add("mbarrier.arrive", decodeArrive);
//
// Decoder::unsupported throws; its message names the line and the form.
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

/// How a register is declared.
struct RegisterType {
  enum class Class : uint8_t { Bits, Integer, Float };
  /// Bits of an element (pred: 1), 0 where an operand is no register.
  unsigned bits = 0, elements = 1;
  Class of = Class::Bits;
};

/// Which registers suit the type of an operand, next to those that have it.
struct Fit {
  /// Registers may be wider than the type: ld, st, and most of cvt.
  bool wider = false;
  /// The elements of .v2, .v4, .v8.
  unsigned vector = 1;
};

class Decoder {
public:
  virtual ~Decoder() = default;
  const syntax::Instruction &text() const { return *instruction; }
  /// The form does not exist or is not executed: throws Error::Unsupported.
  [[noreturn]] void unsupported(const std::string &why) const;
  /// Throws unless the instruction has between `low` and `high` operands.
  void expectOperands(size_t low, size_t high) const;
  /// Throws if the opcode has a part (after the first) not among `known`.
  void expectModifiers(std::initializer_list<std::string_view> known) const;
  /// The order that .relaxed, .acquire, .release, .acq_rel, .sc, .volatile and
  /// the scope give, on top of `implied`, what the bare instruction has.
  race::Ordering ordering(race::Ordering implied) const;
  bool has(std::string_view modifier) const { return text().has(modifier); }
  size_t size() const { return text().operands.size(); }
  const syntax::Operand &operand(size_t index) const;
  bool isSink(size_t index) const {
    return operand(index).kind == syntax::Operand::Kind::Sink;
  }
  bool isImmediate(size_t index) const;
  /// Throws unless the registers of an operand suit the type (PTX ISA 9.4,
  /// operand type checking): as wide, and bits, or integers, or floats alike.
  /// The second of `d|p` is a predicate. Type::None is not checked.
  void expectType(const syntax::Operand &operand, Type type,
                  Fit fit = {}) const;
  void expectType(size_t index, Type type, Fit fit = {}) const {
    expectType(operand(index), type, fit);
  }
  /// Each element of a vector suits the type by itself, where ld and st take
  /// integers for floats.
  void expectEach(size_t index, Type type) const {
    for (const syntax::Operand &element : operand(index).elements)
      expectType(element, type);
  }
  /// The policy that .L2::cache_hint brings, where the form has it.
  void expectCacheHint(size_t index) const {
    if (has("L2::cache_hint"))
      expectType(index, Type::U64);
  }
  /// An address of tensor memory, in brackets: 32 bits.
  void expectTmemAddress(size_t index) const {
    if (operand(index).kind == syntax::Operand::Kind::Address)
      expectType(operand(index).elements[0], Type::U32);
  }
  /// Integer immediate of an operand that must be one (or a .b32 constant).
  uint64_t immediate(size_t index) const;

  /// A register, or an immediate as a constant row of the type. `!p` and `-r`
  /// are computed by an instruction put in front.
  virtual Operand source(const syntax::Operand &operand, Type type) = 0;
  /// A register; `_` gives a scratch row.
  virtual Operand destination(const syntax::Operand &operand) = 0;
  /// Operand `index`, whether one value or a vector; a 128-bit register gives
  /// two rows. `d|p` gives d, then p.
  virtual std::span<const Operand> sourceRows(size_t index, Type type) = 0;
  virtual std::span<const Operand> destinationRows(size_t index) = 0;
  /// The same once the registers are found to suit the type.
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
  /// The memory operand `[...]` at `index`; `space` as the opcode gives it.
  /// A symbol's own space is checked against it.
  virtual AddressOperand address(size_t index, Space space) = 0;
  /// The coordinates of `[map, {c0, c1, ...}]`, element 1 of the operand.
  virtual std::vector<Operand> coordinates(size_t index) = 0;
  virtual RegisterType registerType(const syntax::Operand &operand) const = 0;
  /// Declared width of a register operand in bits (pred: 1); 0 if it is none.
  unsigned registerBits(const syntax::Operand &operand) const {
    RegisterType type = registerType(operand);
    return type.bits * type.elements;
  }
  /// A new scratch row of the current function.
  virtual Operand scratch() = 0;
  /// A constant row with `value` in all lanes.
  virtual Operand constant(uint64_t value) = 0;
  /// Copies rows into the program's arena.
  virtual std::span<const Operand> keep(const std::vector<Operand> &rows) = 0;
  /// Hands a payload to the program, which frees it.
  template <typename T> const T *payload(T value) {
    auto owned = std::make_shared<const T>(std::move(value));
    const T *raw = owned.get();
    own(std::move(owned));
    return raw;
  }
  /// "sm_100a" and the PTX version, as 100 * major + minor.
  virtual std::string_view target() const = 0;

protected:
  virtual void own(std::shared_ptr<const void> payload) = 0;
  const syntax::Instruction *instruction = nullptr;
};

using DecodeFunction = void (*)(Decoder &decoder, Instruction &inst);

/// Prefix of the dotted opcode -> decode function.
class Registry {
public:
  void add(std::string_view prefix, DecodeFunction decode);
  /// The function of the longest prefix, or null. Prefixes end at a dot.
  DecodeFunction find(std::string_view opcode) const;

private:
  std::map<std::string, DecodeFunction, std::less<>> table;
};

/// Control flow, memory, collectives, named barriers (this library).
void registerCore(Registry &registry);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_PROGRAM_DECODER_H
