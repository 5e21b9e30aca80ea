//===- OperandDecoder.h - Rows of the operands of a function ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_DECODE_OPERANDDECODER_H
#define FMHA_LIB_PTX_SIM_CORE_DECODE_OPERANDDECODER_H

#include "ProgramBuilder.h"

namespace ptxsim {

/// Decodes operands to rows, and emits what has to compute these first.
class OperandDecoder : public Decoder {
public:
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

protected:
  OperandDecoder(ProgramBuilder &builder, Code &code)
      : builder(builder), code(code) {}
  void own(std::shared_ptr<const void> payload) override;
  Instruction &emit(Instruction inst, Flow flow = {},
                    const std::vector<Operand> &reads = {});
  Symbol lookup(const syntax::Operand &operand);

  ProgramBuilder &builder;
  Code &code;
  std::vector<Flow> flow;
  uint32_t sourceFile = 0, sourceLine = 0;
  /// The rows that the instruction has been found to read so far.
  std::vector<Operand> reads;

private:
  Operand sourceRow(const syntax::Operand &operand, Type type);
  void emitHelper(Handler handler, Operand dst, Operand src,
                  const void *payload);
  void appendRows(std::vector<Operand> &rows, const syntax::Operand &operand,
                  Type type, bool isSource);
  Operand addressOfSymbol(const Symbol &symbol, std::string_view name,
                          int64_t offset);
  Operand registerPlus(const Symbol &symbol, const syntax::Operand &operand,
                       Type type);
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_DECODE_OPERANDDECODER_H
