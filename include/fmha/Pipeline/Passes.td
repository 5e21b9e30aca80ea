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

def NestedModules : Pass<"fmha-nested-modules", "::mlir::ModuleOp"> {
  let summary = "Run a pipeline on every nested module";
  let description = [{
    The pipeline runs on each `builtin.module` nested in the module of the pass, at any depth, inner ones first, but not
    on that module itself. `fmha-to-ptx` uses it to compile the ops of nested modules, each kernel into the module of
    its op.

    Example:
    ```
    builtin.module(fmha-nested-modules{pipeline=symbol-dce,cse})
    ```
    on
    ```mlir
    module {                // stays
      module @a {           // runs second
        module @b { ... }   // runs first
      }
    }
    ```
  }];
  let constructor = "::fmha::createNestedModules()";
  let options = [
    Option<"pipeline", "pipeline", "std::string", "\"\"", "Passes for builtin.module, as a textual pipeline">
  ];
}

def SerializeKernels : Pass<"fmha-serialize-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels at the NVVM level into PTX with a launch manifest";
  let description = [{
    Compiles the `gpu.module` of every `fmha.attention` to a `gpu.binary` by the NVPTX back end, once for all ops that
    name it. The binary has the attribute `fmha.manifest`, the JSON text from which any host can launch (schema in
    include/fmha/Runtime/README.md), and its PTX begins with a comment with version, target, schedule and the command
    that reproduces the text.

    An op without a kernel is an error, and so is one whose kernel is not at the NVVM level or was made for another
    schedule or problem (`fmha.schedule`, `fmha.problem`): the manifest comes from the op, the code from the kernel. A
    kernel that is a binary already is left unchanged.

    This is upstream's `gpu-module-to-binary` for one module, with one difference: the GPU comes from the schedule and is
    attached here, after the last verification, because the NVVM ops of MLIR 22 do not list sm_103a, which LLVM and ptxas
    support.

    After:
    ```mlir
    gpu.binary @fmha_fwd_kernel {fmha.manifest = "{...}"} [#gpu.object<#nvvm.target<chip = "sm_100a">, "// fmha ...">]
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect"];
  let options = [
    Option<"pipeline", "pipeline", "::fmha::PipelineSource", "::fmha::PipelineSource::Table",
           "Where roles, stages and orders of loops came from, for the command in the comment",
           [{::llvm::cl::values(clEnumValN(::fmha::PipelineSource::Table, "table", "the table of the kernel family"),
                                clEnumValN(::fmha::PipelineSource::Derived, "derived", "the results of a solver"))}]>
  ];
}

#endif // FMHA_PIPELINE_PASSES_TD
