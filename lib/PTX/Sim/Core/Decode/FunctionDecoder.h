//===- FunctionDecoder.h - One function from tree to code -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_DECODE_FUNCTIONDECODER_H
#define FMHA_LIB_PTX_SIM_CORE_DECODE_FUNCTIONDECODER_H

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

class FunctionDecoder : public Decoder {
public:
  FunctionDecoder(ProgramBuilder &builder, const syntax::Function &function,
                  Code &code);
  void decode();

  using Decoder::destination;
  using Decoder::source;
  Operand source(const syntax::Operand &operand, Type type) override;
  Operand destination(const syntax::Operand &operand) override;
  std::span<const Operand> sourceRows(size_t index, Type type) override;
  std::span<const Operand> destinationRows(size_t index) override;
  AddressOperand address(size_t index, Space space) override;
  std::vector<Operand> coordinates(size_t index) override;
  RegisterType registerType(const syntax::Operand &operand) const override;
  Operand scratch() override { return {code.rows++}; }
  Operand constant(uint64_t value) override { return builder.constant(value); }
  std::span<const Operand> keep(const std::vector<Operand> &rows) override;
  std::string_view target() const override { return builder.module.target; }

private:
  void own(std::shared_ptr<const void> payload) override;
  void declareFormals();
  Slot declareFormal(const syntax::Variable &variable, uint32_t &bankOffset);
  void declareBlock(const syntax::Block &block);
  void declareVariable(const syntax::Variable &variable);
  void decodeBlock(const syntax::Block &block);
  void decodeStatement(const syntax::Statement &statement);
  void decodeInstruction(const syntax::Instruction &inst);
  bool decodeControl(Instruction &inst, Flow &flow);
  void decodeBranch(Instruction &inst, Flow &flow);
  void decodeBranchMany(Instruction &inst, Flow &flow);
  void decodeCall(Instruction &inst);
  void decodeCallee(CallData &call, Instruction &inst,
                    const syntax::Operand &callee);
  Slot callSlot(const syntax::Operand &operand, Operand &row);
  Instruction &emit(Instruction inst, Flow flow = {});
  void emitHelper(Handler handler, Operand dst, Operand src,
                  const void *payload);
  void finish();
  Symbol lookup(const syntax::Operand &operand);
  void appendRows(std::vector<Operand> &rows, const syntax::Operand &operand,
                  Type type, bool isSource);
  Operand addressOfSymbol(const Symbol &symbol, std::string_view name,
                          int64_t offset);
  Operand registerPlus(const Symbol &symbol, const syntax::Operand &operand,
                       Type type);
  uint32_t allocateLocal(const syntax::Variable &variable);

  ProgramBuilder &builder;
  const syntax::Function &function;
  Code &code;
  std::vector<Flow> flow;
  /// Position of each label id; branches are patched at the end.
  std::vector<uint32_t> labels;
  std::vector<std::pair<uint32_t, uint32_t>> branches;
  std::vector<std::pair<uint32_t, std::shared_ptr<BranchTargets>>> manyBranches;
  std::vector<std::vector<uint32_t>> targetLists;
  /// Forms that are an error only if they are reachable.
  std::vector<std::pair<uint32_t, Error>> deferred;
  uint32_t sourceFile = 0, sourceLine = 0;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_DECODE_FUNCTIONDECODER_H
