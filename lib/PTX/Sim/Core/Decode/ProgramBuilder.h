//===- ProgramBuilder.h - A program while it is decoded ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_DECODE_PROGRAMBUILDER_H
#define FMHA_LIB_PTX_SIM_CORE_DECODE_PROGRAMBUILDER_H

#include "Machine/Handlers.h"
#include "Symbols.h"

namespace ptxsim {

/// State shared by all functions of a program while it is decoded.
class ProgramBuilder {
public:
  ProgramBuilder(const syntax::Module &module, const Registry &registry);
  std::unique_ptr<Program> build(const syntax::Function &entry);

  Operand constant(uint64_t value);
  Operand relocated(Relocation::Kind kind, std::string_view variable,
                    uint64_t offset);
  /// Lays out a .shared variable; extern variables share one place.
  Symbol placeShared(const syntax::Variable &variable);
  const syntax::Function *findFunction(std::string_view name) const;
  /// Returns the code of a function, decoded now or later.
  Code *codeOf(const syntax::Function &function);
  uint32_t numberOf(const syntax::Function &function);
  Symbol moduleSymbol(const syntax::Variable &variable);

  const syntax::Module &module;
  const Registry &registry;
  std::unique_ptr<Program> program;
  SymbolTable symbols;

private:
  void measureStack();
  std::unordered_map<uint64_t, uint32_t> constantIndex;
  std::map<std::tuple<int, std::string_view, uint64_t>, uint32_t> relocations;
  std::unordered_map<std::string_view, const syntax::Function *> functions;
  std::vector<const syntax::Function *> work;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_DECODE_PROGRAMBUILDER_H
