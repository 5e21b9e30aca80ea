//===- FunctionDecoder.h - One function from tree to code -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_DECODE_FUNCTIONDECODER_H
#define FMHA_LIB_PTX_SIM_CORE_DECODE_FUNCTIONDECODER_H

#include "Declarations.h"
#include "OperandDecoder.h"

namespace ptxsim {

/// Decodes the statements of a function.
class FunctionDecoder : public OperandDecoder {
public:
  FunctionDecoder(ProgramBuilder &builder, const syntax::Function &function,
                  Code &code);
  void decode();

private:
  void decodeBlock(const syntax::Block &block);
  void decodeStatement(const syntax::Statement &statement);
  void decodeInstruction(const syntax::Instruction &inst);
  void finish();
  // ControlDecoder.cpp
  bool decodeControl(Instruction &inst, Flow &flow);
  void decodeBranch(Instruction &inst, Flow &flow);
  void decodeBranchMany(Instruction &inst, Flow &flow);
  void decodeCall(Instruction &inst);
  void decodeCallee(CallData &call, Instruction &inst,
                    const syntax::Operand &callee);
  Slot callSlot(const syntax::Operand &operand, Operand &row);

  const syntax::Function &function;
  Declarations declarations;
  std::vector<std::pair<uint32_t, uint32_t>> branches;
  std::vector<std::pair<uint32_t, std::shared_ptr<BranchTargets>>> manyBranches;
  /// Forms that are an error only if they are reachable.
  std::vector<std::pair<uint32_t, Error>> deferred;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_DECODE_FUNCTIONDECODER_H
