//===- Symbols.h - Lexical scopes of the decoder ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_DECODE_SYMBOLS_H
#define FMHA_LIB_PTX_SIM_CORE_DECODE_SYMBOLS_H

#include "fmha/PTX/Sim/Core/Program/Decoder.h"
#include "fmha/PTX/Sim/Core/Program/Program.h"

#include <list>
#include <optional>

namespace ptxsim {

struct Symbol {
  enum class Kind : uint8_t {
    Register,      // index = first row
    Shared,        // index = address from kSharedBase
    DynamicShared, // extern .shared
    Global,        // .global and .const: placed at launch
    EntryParam,    // index = offset in the bank
    Local,         // index = offset in the frame's local memory
    Function,      // index = function number + 1
    Label,         // index = label id
    Targets,       // index = id of a list of targets
  };
  Kind kind = Kind::Register;
  uint16_t bits = 0;     // width of a register
  uint16_t elements = 1; // of a vector register
  RegisterType::Class of = RegisterType::Class::Bits;
  uint32_t index = 0;
  const syntax::Variable *variable = nullptr;
};

/// One scope. A range assigns a row to a register at its first use, so that a
/// generous %r<9999> costs nothing.
struct SymbolScope {
  struct Range {
    uint16_t bits;
    RegisterType::Class of;
    std::unordered_map<uint64_t, uint32_t> rows;
  };
  std::unordered_map<std::string_view, Symbol> names;
  std::unordered_map<std::string_view, Range> ranges;
};

class SymbolTable {
public:
  void push() { scopes.emplace_back(); }
  void pop() { scopes.pop_back(); }
  void declare(std::string_view name, Symbol symbol) {
    scopes.back().names[name] = symbol;
  }
  void declareRange(std::string_view stem, uint16_t bits,
                    RegisterType::Class of) {
    scopes.back().ranges[stem] = {bits, of, {}};
  }
  /// Returns the innermost symbol of that name. `rows` grows by the rows that a
  /// register of a range takes at its first use.
  std::optional<Symbol> find(std::string_view name, uint32_t &rows);

private:
  std::vector<SymbolScope> scopes;
};

/// Returns the class of registers declared with a type.
RegisterType::Class classOf(std::string_view type);

/// Returns the number of rows that a register of `bits` takes.
inline uint32_t rowsOf(uint32_t bits) { return bits == 128 ? 2 : 1; }

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_DECODE_SYMBOLS_H
