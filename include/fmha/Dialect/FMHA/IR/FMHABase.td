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
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

#endif // FMHA_DIALECT_FMHA_IR_FMHABASE_TD
