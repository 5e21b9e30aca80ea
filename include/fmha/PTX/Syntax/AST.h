//===- AST.h - The text of a PTX module as a tree ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names stay text: the same tree serves the name checker, the decoder and other
// readers of PTX. Every string_view points into the text that the module owns.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SYNTAX_AST_H
#define FMHA_PTX_SYNTAX_AST_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim::syntax {

struct Operand {
  enum class Kind : uint8_t {
    Name,    // %r1, sym, sym+4, %tid.x, !%p, -%r
    Integer, // bits
    Float,   // bits, floatBits 32 or 64
    Address, // elements[0] = base (Name or Integer), then {coords} and others
    Vector,  // {a, b, ...}
    Pair,    // d|p
    Sink,    // _
    List,    // (a, b) of a call
  };
  Kind kind = Kind::Sink;
  bool negated = false; // !p
  bool minus = false;   // -%r
  uint8_t floatBits = 0;
  uint32_t line = 0;
  std::string_view name;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::vector<Operand> elements;
};

struct Instruction {
  std::string_view text;               // "@%p1 ld.global.v2.f32 ... ;", all
  std::string_view opcode;             // "ld.global.v2.f32"
  std::vector<std::string_view> parts; // "ld", "global", "v2", "f32"
  std::vector<Operand> operands;       // "::" stays inside a part
  std::string_view guard;              // register name, empty if none
  bool guardNegated = false;
  uint32_t line = 0;

  bool has(std::string_view modifier) const {
    for (size_t i = 1; i < parts.size(); ++i)
      if (parts[i] == modifier)
        return true;
    return false;
  }
};

/// .reg, .global, .shared, .local, .const, .param declarations. A range %r<10>
/// has count 10, and the stem as its name.
struct Variable {
  enum class Space : uint8_t { Reg, Global, Shared, Local, Const, Param, Tex };
  Space space = Space::Reg;
  std::string_view name, type;        // type without the dot: "b32", "pred"
  uint32_t vector = 1;                // .v2, .v4
  uint32_t align = 0;                 // 0 = natural
  std::vector<uint64_t> dimensions;   // [] of unknown size = 0
  std::optional<uint32_t> rangeCount; // %r<10>
  std::vector<Operand> initializer;   // flattened
  bool isExtern = false, isVisible = false, isWeak = false;
  uint32_t line = 0;

  uint64_t elements() const {
    uint64_t n = 1;
    for (uint64_t d : dimensions)
      n *= d;
    return n;
  }
};

struct Statement;
using Block = std::vector<Statement>;

struct Statement {
  enum class Kind : uint8_t {
    Instruction,
    Label,
    Variable,
    Scope,
    Loc,
    BranchTargets,
    CallTargets,
    CallPrototype,
    Pragma,
  };
  Kind kind = Kind::Pragma;
  uint32_t line = 0;
  Instruction instruction;
  std::string_view label; // Label, and the name of targets
  std::vector<Variable> variables;
  std::unique_ptr<Block> scope;
  std::vector<std::string_view> targets;
  uint32_t file = 0, fileLine = 0; // Loc
};

struct Function {
  std::string_view name;
  bool isEntry = false, isExtern = false, isVisible = false, isWeak = false;
  bool isPrototype = false; // ends in ';'
  std::vector<Variable> results, parameters;
  struct Directive {
    std::string_view name; // "reqntid", "maxnreg", ...
    std::vector<uint64_t> values;
  };
  std::vector<Directive> directives;
  Block body;
  uint32_t line = 0;
};

struct Module {
  /// Never reused, so that placed variables of a destroyed module are not
  /// mistaken for those of another module at the same address.
  uint64_t serial = 0;
  std::string text, name;
  std::string version, target; // "9.0", "sm_100a"
  unsigned addressSize = 64;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<std::pair<uint32_t, std::string>> files; // .file
};

} // namespace ptxsim::syntax

#endif // FMHA_PTX_SYNTAX_AST_H
