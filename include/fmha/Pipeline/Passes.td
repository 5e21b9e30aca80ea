//===- Passes.td - Passes at the end of the pipeline -------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_PASSES_TD
#define FMHA_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachManifest : Pass<"fmha-attach-manifest", "::mlir::ModuleOp"> {
  let summary = "Put the launch manifest beside the PTX, and a heading into it";
  let description = [{
    For every `fmha.attention` whose kernel has become a `gpu.binary`: the binary gets the attribute `fmha.manifest`, the
    JSON text from which any host can launch (schema in include/fmha/Runtime/README.md), and its PTX begins with a comment
    that says version, target, schedule and the command that makes the same text again.

    After:
    ```mlir
    gpu.binary @fmha_fwd_kernel {fmha.manifest = "{...}"} [#gpu.object<#nvvm.target<chip = "sm_100a">, "// fmha ...">]
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

#endif // FMHA_PIPELINE_PASSES_TD
