//===- FMHABase.td - The fmha dialect ----------------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_FMHABASE_TD
#define FMHA_DIALECT_FMHA_IR_FMHABASE_TD

include "mlir/IR/DialectBase.td"

def FMHA_Dialect : Dialect {
  let name = "fmha";
  let cppNamespace = "::fmha";
  let summary = "What an attention kernel computes";
  let description = [{
    The `fmha` dialect says *what* is computed: one op, `fmha.attention`, with
    the shapes, the mask and the scale of a fused multi-head attention. It knows
    no target. How a kernel does it is data beside the op (`#fmha.schedule`) and
    the business of the `tile` dialect below.

    The executable meaning of the dialect is the pass
    `fmha-decompose-to-linalg`.

    Five discardable attributes carry meaning; others of the prefix `fmha.` are
    errors:
    - `fmha.problem`, a `#fmha.problem` on a `gpu.func` or `llvm.func`: what the
      kernel was made for;
    - `fmha.schedule`, a `#fmha.schedule` on a `gpu.func` or `llvm.func`: how the
      kernel is built, and that it is one of ours;
    - `fmha.kernel`, a symbol `@module::@function` on a `fmha.attention`: the
      kernel that serves the op;
    - `fmha.manifest`, a string on a `gpu.binary`: its launch manifest;
    - `fmha.target`, a string on a `fmha.attention`: the GPU to plan for, in place
      of the pass option.
  }];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  // Reifying result shapes builds tensor.dim and constants of indices; a tensor
  // map is an LLVM array.
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::tensor::TensorDialect"];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();

    /// Returns the memory map of a kernel, or what is wrong with its schedule,
    /// which has the planner's roles where it has none. Each pair is checked and
    /// laid out once in a context.
    const ::fmha::schedule::CheckedMap &
    getMap(const ::fmha::schedule::Problem &problem,
           ScheduleAttr schedule);

  private:
    std::unique_ptr<CheckedMaps> maps;

  public:
  }];
}

#endif // FMHA_DIALECT_FMHA_IR_FMHABASE_TD
