//===- FMHABase.td - The fmha dialect ----------------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_ATTRIBUTES_FMHABASE_TD
#define FMHA_DIALECT_FMHA_ATTRIBUTES_FMHABASE_TD

include "mlir/IR/DialectBase.td"

def FMHA_Dialect : Dialect {
  let name = "fmha";
  let cppNamespace = "::fmha";
  let summary = "attention as a mathematical function";
  let description = [{
    The `fmha` dialect defines the function to compute: one op, `fmha.attention`,
    with the shapes, the mask and the scale of a fused multi-head attention. It
    does not depend on a target. An attribute of the op (`#fmha.schedule`)
    determines how a kernel computes it, with ops of the `tile` dialect.

    The pass `fmha-decompose-to-linalg` is the executable definition of the
    dialect.

    Discardable attributes of the dialect; others with the prefix `fmha.` are
    errors:
    - `fmha.problem`, a `#fmha.problem` on a `gpu.func` or `llvm.func`: the problem
      that the kernel solves;
    - `fmha.schedule`, a `#fmha.schedule` on a `gpu.func` or `llvm.func`: the
      schedule of the kernel, which also marks it as one of this compiler;
    - `fmha.kernel`, a symbol `@module::@function` on a `fmha.attention`,
      `fmha.append` or `fmha.merge`: the kernel of the op;
    - `fmha.append`, a dictionary on an `llvm.func`: the problem of an append
      kernel;
    - `fmha.merge`, a dictionary on an `llvm.func`: the problem of a merge kernel;
    - `fmha.manifest`, a string on a `gpu.binary`: its launch manifest;
    - `fmha.target`, a string on a `fmha.attention`: the GPU to plan for, in place
      of the pass option.
  }];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  // Reifying result shapes builds tensor.dim and index constants; a tensor map is
  // an LLVM array.
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::tensor::TensorDialect"];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();

    /// Returns the memory map of a kernel, or the message of a rule that its
    /// schedule violates. A schedule without roles has the planner's. Each pair is
    /// checked and laid out once per context.
    const ::fmha::schedule::CheckedMap &
    getMap(const ::fmha::schedule::Problem &problem,
           ScheduleAttr schedule);

  private:
    std::shared_ptr<CheckedMaps> maps;

  public:
  }];
}

#endif // FMHA_DIALECT_FMHA_ATTRIBUTES_FMHABASE_TD
