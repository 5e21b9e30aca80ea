//===- Declarations.h - Variables and labels of a function ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_DECODE_DECLARATIONS_H
#define FMHA_LIB_PTX_SIM_CORE_DECODE_DECLARATIONS_H

#include "ProgramBuilder.h"

namespace ptxsim {

/// Declares the symbols of a function, and places them in rows, local memory
/// or the parameter bank.
class Declarations {
public:
  Declarations(ProgramBuilder &builder, const syntax::Function &function,
               Code &code)
      : builder(builder), function(function), code(code) {}
  void declareFormals();
  void declareBlock(const syntax::Block &block);

  /// Position of each label id; branches are patched at the end.
  std::vector<uint32_t> labels;
  std::vector<std::vector<uint32_t>> targetLists;

private:
  Slot declareFormal(const syntax::Variable &variable, uint32_t &bankOffset);
  void declareVariable(const syntax::Variable &variable);
  uint32_t allocateLocal(const syntax::Variable &variable);

  ProgramBuilder &builder;
  const syntax::Function &function;
  Code &code;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_DECODE_DECLARATIONS_H
