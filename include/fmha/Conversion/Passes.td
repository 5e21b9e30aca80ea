//===- Passes.td - Passes between levels and to host code -----*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_CONVERSION_PASSES_TD
#define FMHA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanSchedule : Pass<"fmha-plan-schedule", "::mlir::ModuleOp"> {
  let summary = "Plan a schedule for each attention op that has none";
  let description = [{
    Calls the planner (a library without MLIR) and attaches its choice to the op as `#fmha.schedule`. A schedule that the op
    already has, for example one written by hand, is kept, and gets the planner's roles if it has none; a schedule for another
    target, or one that contradicts an option, is an error. Extents that types or options give are hints: they rank the
    schedules, and each schedule is correct for any launch. If they show that a launch leaves SMs idle, the planner splits the
    KV blocks over several CTAs, so that an op of static shapes may become two kernels and a workspace; `splits=1` keeps it
    one kernel. Each field of a schedule that may be fixed is an option, `auto` or its value: docs/fields.md. A `fmha.append`
    or `fmha.merge` gets the target. The choice, the loads of its units, each runner-up, and each reason for which candidates were rejected
    are emitted as remarks of category `fmha-plan`.

    Before:
    ```mlir
    fmha.attention ins(...) outs(...)
    ```
    After:
    ```mlir
    fmha.attention ins(...) outs(...) {schedule = #fmha.schedule<target = "sm_100a", q_tiles = 2, ...>}
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_100a\"", "GPU to plan for, for example sm_100a">,
    Option<"pPlacement", "p-placement", "std::string", "\"auto\"",
           "Memory that holds P for the second product: auto, tmem, smem or registers">
  ];
  let dependentDialects = ["::fmha::FMHADialect"];
}

def ConvertFMHAToTile : Pass<"convert-fmha-to-tile", "::mlir::ModuleOp"> {
  let summary = "Lower each attention op to a tiled kernel";
  let description = [{
    Creates a `gpu.module` with one kernel for each `fmha.attention` that has a schedule: the grid determines which rows of
    which head a CTA computes, an `scf.for` iterates over the KV blocks, and tile values carry the online softmax. The kernel
    is still sequential and has no memory spaces. Its operands are memrefs with run-time extents and strides, so that one
    kernel serves every length. The op stays in place and names its kernel in `fmha.kernel`. An op without a schedule is an
    error. Some fields of the schedule change the kernel:

    - `key_chunk`, `value_chunk`: each subtile of K or V has its own load, and its own dot on a `tile.slice` of the query or of P.
    - `p_slices`: P and its products are computed in slices of keys, which a `tile.join` concatenates for the row sums.
    - `o_columns`: a CTA computes some columns of O, and the grid has one more factor.
    - `pack_heads`: a query tile has rows of that many query heads of one KV head, and the grid counts chunks of groups
      instead of heads.

    The `gpu.module` is added to the innermost module around the op, which becomes a `gpu.container_module`. Ops of one
    module that compute the same share a kernel: those with equal problems and schedules, including the target, and
    structurally equal score regions, regardless of locations and static extents. An op that has a kernel keeps it, and
    others may share it, so that the pass is idempotent. The names are `fmha_fwd_kernel`, `fmha_append_kernel` and
    `fmha_merge_kernel`, followed by `_0`, `_1`, ... if a name is taken, in the order of the ops.

    A `fmha.append` or `fmha.merge` becomes a kernel without tiles: an `llvm.func` of plain arithmetic, whose parameters are
    those of its launch manifest. An append copies 16 bytes per thread, a merge has one warp per row. If a schedule has `splits`, the kernel of the op writes partial results, and
    a second kernel in the same `gpu.module` combines them.
  }];
  let dependentDialects = [
    "::fmha::tile::TileDialect", "::mlir::gpu::GPUDialect", "::mlir::scf::SCFDialect",
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"
  ];
}

def ConvertTileToNVVM : Pass<"convert-tile-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower machine-level kernels to NVVM functions";
  let description = [{
    Each machine op becomes the NVVM op of its instruction. A kernel's memrefs become the parameters of a
    launch: a tensor map for each of q, k, v and o, a pointer and strides for the LSE, and the lengths as 32-bit scalars. The
    parameters are in the order of the launch manifest.

    A kernel above the machine level is an error. Functions without `fmha.schedule`, and kernels that are
    already `llvm.func` ops, are left alone, so that the pass is idempotent.
  }];
  let dependentDialects = [
    "::mlir::NVVM::NVVMDialect", "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect"
  ];
}

def ConvertKernelToLLVM : Pass<"convert-kernel-to-llvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower the remaining ops of fmha kernels to LLVM, with 32-bit indices";
  let description = [{
    Applies the upstream patterns of scf, cf, arith, math and vector in one conversion, to modules whose functions all come
    from `convert-tile-to-nvvm`; other modules are left alone, since their indices may need 64 bits. A module with both kinds
    of functions, or a kernel that is not yet an `llvm.func`, is an error. Duplicate constants and addresses are folded at
    the end. The pass is idempotent.

    Before:
    ```mlir
    %n = arith.addi %a, %b : index
    ```
    After:
    ```mlir
    %n = llvm.add %a, %b : i32
    ```
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect", "::mlir::vector::VectorDialect"
  ];
}

def VerifyInput : Pass<"fmha-verify-input"> {
  let summary = "Report attention ops on tensors as errors";
  let description = [{
    Runs first in `fmha-to-gpu`, so that the error comes before any work is done: launches need each op with a
    kernel to be on memrefs. `fmha-program-to-llvm` bufferizes by itself.

    Example:
    ```mlir
    // error: expected 'query' to be a memref, got 'tensor<1x8x2x64xf16>'; run one-shot-bufferize before fmha-to-gpu, ...
    %r = fmha.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t) -> !t
    ```
  }];
}

def LaunchKernels : Pass<"fmha-launch-kernels", "::mlir::ModuleOp"> {
  let summary = "Replace attention ops that have a kernel with gpu.launch_func";
  let description = [{
    Every `fmha.attention`, `fmha.append` and `fmha.merge` on memrefs whose `fmha.kernel` names a `gpu.binary` with a launch manifest
    becomes the launch that the manifest describes: extents and strides come from the memrefs, a `fmha.tensor_map` is
    encoded for each tensor map, and the grid, block, cluster and shared memory are the manifest's. A kernel with splits
    gets a workspace by `gpu.alloc` and a second launch that combines the partial results. If the extents of the grid
    are not constant, an `scf.if` skips the launch of an empty grid. With a static scheduler the grid has at most as many CTAs
    as fit on the device.

    The memrefs are assumed to be memory that the device can access; nothing is copied (`fmha-place-buffers` does that),
    and all other ops stay as they are. Launches are synchronous in form: upstream's `gpu-async-region` makes them
    asynchronous. With `checks=on` each constraint that depends on run-time values becomes a `cf.assert` that names its
    number. Entries of varlen metadata are not checked, because they are in device memory.

    Fails if an op is on tensors, has no kernel, or has a kernel that was compiled for another problem.

    Before:
    ```mlir
    fmha.attention ins(%q, %k, %v : ...) outs(%o : ...) {fmha.kernel = @fmha_fwd_kernel::@fmha_fwd, ...}
    ```
    After:
    ```mlir
    %map = fmha.tensor_map %address sizes[%dim, %length, %heads, %batch] strides[...] {...}
    gpu.launch_func @fmha_fwd_kernel::@fmha_fwd blocks in (%tiles, %c1, %c1) threads in (%c384, %c1, %c1)
        dynamic_shared_memory_size %smem args(%map : !llvm.array<16 x i64>, ..., %length : i32)
    ```
  }];
  let options = [
    Option<"checks", "checks", "::fmha::Switch", "::fmha::Switch::On",
           "Assert the constraints that depend on run-time values",
           [{::llvm::cl::values(clEnumValN(::fmha::Switch::On, "on", "assert them"),
                                clEnumValN(::fmha::Switch::Off, "off", "leave them out"))}]>
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def PlaceBuffers : Pass<"fmha-place-buffers"> {
  let summary = "Copy buffers to and from the device where host and kernel ops meet";
  let description = [{
    Runs before `fmha-launch-kernels`, on programs in host memory. Allocates a device copy (`gpu.alloc`) of each buffer that
    a `fmha.attention`, `fmha.append` or `fmha.merge` reads or writes, and inserts a `gpu.memcpy` where one side reads what the other wrote.
    Between two writes a buffer is copied at most once in each direction, outside of loops unless both sides use it there.
    Copies on the device are dense. A buffer whose type has strides, such as the function arguments that
    `one-shot-bufferize` creates for tensors, is copied through a dense buffer on the host.
    A `memref.alloc` that only kernels use becomes a `gpu.alloc`.

    The pass follows buffers through views, `arith.select`, branches and the results and arguments of structured control
    flow. If a kernel may use any of several buffers, its copy is selected by the buffer's address. On a module, a call of a
    function that returns a new allocation counts as an allocation, and calls read, write and keep the buffers that the
    called functions read, write and keep; on a `func.func`, calls may read, write and keep all of their arguments. Copies
    stay in the function of the kernel: run `inline` first if a function with kernels is called in a loop.

    Buffers some of whose uses are unknown are copied before and after each kernel, through a dense buffer on the host.
    These are:

    - results of other calls, of declarations, and of ops that are not listed here;
    - views of unranked memrefs;
    - globals that are not constant;
    - buffers whose address is used for more than comparisons, or is stored by an op or a called function;
    - arguments that overlap other memory of the function in some call in the module;
    - an allocation in a loop that the next iteration uses;
    - several buffers that one memref may be a view of, if they are not dense, not defined in one block, or freed before the
      kernel;
    - views of buffers that are not dense.

    `memory=managed` allocates managed memory, which host and device share, instead of copying. Arguments are still
    copied. Memrefs in a memory space, and those of `gpu.alloc`, are assumed to be on the device already. Callers outside
    of the module must not pass overlapping arguments to a function, unless it only reads them; functions that are only
    declared must not keep their arguments.

    Before:
    ```mlir
    func.func @f(%q: memref<1x64x4x64xbf16>, ..., %o: memref<1x64x4x64xbf16>) {
      fmha.attention ins(%q, ...) outs(%o : memref<1x64x4x64xbf16>)
      return
    }
    ```
    After:
    ```mlir
    func.func @f(%q: memref<1x64x4x64xbf16>, ..., %o: memref<1x64x4x64xbf16>) {
      %device_q = gpu.alloc () : memref<1x64x4x64xbf16>
      gpu.memcpy %device_q, %q : memref<1x64x4x64xbf16>, memref<1x64x4x64xbf16>
      ...
      fmha.attention ins(%device_q, ...) outs(%device_o : memref<1x64x4x64xbf16>)
      gpu.memcpy %o, %device_o : memref<1x64x4x64xbf16>, memref<1x64x4x64xbf16>
      ...
    ```
  }];
  let options = [
    Option<"memory", "memory", "::fmha::Memory", "::fmha::Memory::Device",
           "Memory of the copies",
           [{::llvm::cl::values(clEnumValN(::fmha::Memory::Device, "device", "device memory, with copies"),
                                clEnumValN(::fmha::Memory::Managed, "managed", "managed memory; allocations need no copies"))}]>
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect"];
}

def DeallocateBuffers : Pass<"fmha-deallocate-buffers", "::mlir::ModuleOp"> {
  let summary = "Free the buffers that a program does not free itself";
  let description = [{
    Runs upstream's ownership-based deallocation, which by itself rejects programs that free buffers, on the functions of
    a module:

    - Memory of `gpu.alloc` is freed only by the `gpu.dealloc` ops that the input has.
    - A `memref.alloc` that its function frees, and that reaches no other function and no control flow, stays as it is;
      the other buffers of the function are freed by upstream's deallocation.
    - A function that frees other buffers (results of calls, buffers that a loop carries, or buffers under a condition, as the
      output of `buffer-deallocation-pipeline` does) is left as it is written, with one exception: an allocation that nothing
      frees and whose uses are all in one block is freed at the end of the block.

    The output has `bufferization.dealloc` ops, for `bufferization-lower-deallocations`. Fails on a call between a function that
    is left as written and one that is not, unless the results are new allocations.

    Before:
    ```mlir
    %a = memref.alloc() : memref<64xf32>
    %b = memref.alloc() : memref<64xf32>
    memref.dealloc %a : memref<64xf32>
    return
    ```
    After:
    ```mlir
    %a = memref.alloc() : memref<64xf32>
    %b = memref.alloc() : memref<64xf32>
    memref.dealloc %a : memref<64xf32>
    bufferization.dealloc (%b : memref<64xf32>) if (%true)
    return
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def InsertChecks : Pass<"fmha-insert-checks", "::mlir::func::FuncOp"> {
  let summary = "Assert the run-time constraints of attention ops";
  let description = [{
    Inserts, before each op of `fmha` with a kernel, on memrefs, a `cf.assert` for each numbered constraint that the
    types do not decide: equal extents, strides and addresses that TMA can use, no overlapping buffers, valid entries of
    varlen metadata. Two are not asserted: that used scales are finite (attention.C32), and that no sequence reads or
    writes a row that another one appends (attention.C33). The host reads these entries, so the pass runs before `fmha-place-buffers`; for buffers in device
    memory, `fmha-launch-kernels{checks=on}` asserts the same constraints except those on entries. Upstream's
    `generate-runtime-verification` inserts the same assertions together with those of other dialects.

    After:
    ```mlir
    %same = arith.cmpi eq, %keys, %values : index
    cf.assert %same, "layer.mlir:7:3: fmha.attention: (attention.C9) expected dimension 1 of value to equal dimension 1 of key"
    fmha.attention ins(...) outs(...)
    ```
  }];
  let options = [
    Option<"rules", "rules", "::fmha::CheckedRules", "::fmha::CheckedRules::All", "Constraints to assert",
           [{::llvm::cl::values(clEnumValN(::fmha::CheckedRules::All, "all", "every constraint"),
                                clEnumValN(::fmha::CheckedRules::Lists, "lists", "those on entries of varlen metadata"))}]>
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def DispatchTargets : Pass<"fmha-dispatch-targets", "::mlir::ModuleOp"> {
  let summary = "Select kernels by compute capability at run time";
  let description = [{
    Clones each `fmha.attention`, `fmha.append` and `fmha.merge` on memrefs for each target, into an `scf.index_switch` on the device's
    compute capability, so that one program runs on several GPUs. The attribute `fmha.target` sets the target for
    `fmha-plan-schedule`. A schedule is kept only on the clone for its target. On a device with another compute
    capability the program stops with a message.

    Before:
    ```mlir
    fmha.attention ins(...) outs(...)
    ```
    After:
    ```mlir
    %capability = fmha.compute_capability
    scf.index_switch %capability
    case 90 {
      fmha.attention ins(...) outs(...) {fmha.target = "sm_90a"}
      scf.yield
    }
    case 100 {
      fmha.attention ins(...) outs(...) {fmha.target = "sm_100a"}
      scf.yield
    }
    default { ... }
    ```
  }];
  let options = [
    ListOption<"targets", "targets", "std::string", "GPUs, for example sm_90a,sm_100a">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::scf::SCFDialect", "::fmha::FMHADialect"
  ];
}

def SynchronizeManaged : Pass<"fmha-synchronize-managed", "::mlir::func::FuncOp"> {
  let summary = "Make allocations of managed memory synchronous";
  let description = [{
    `gpu-async-region` makes every `gpu.alloc` asynchronous, and `gpu-to-llvm` rejects those with `host_shared`, since
    managed memory cannot be allocated on a stream. This pass makes these allocations synchronous again; ops that
    depended on the token of an allocation depend on the allocation's own dependencies instead.

    Before:
    ```mlir
    %buffer, %token = gpu.alloc async [%before] host_shared () : memref<64xf32>
    ```
    After:
    ```mlir
    %buffer = gpu.alloc host_shared () : memref<64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def ReportAsserts : Pass<"fmha-report-asserts", "::mlir::ModuleOp"> {
  let summary = "Make failed assertions end the process with a line on stderr";
  let description = [{
    Upstream lowers `cf.assert` to `puts`, whose text is lost in a pipe, and `abort`. In programs that link
    libfmha_mgpu.so this pass calls `mgpuFmhaFail` instead, which prints the message on stderr and ends the process with
    exit status 1. Run it after structured control flow is lowered to branches.

    Before:
    ```mlir
    cf.assert %holds, "expected a length of at most 8"
    ```
    After:
    ```mlir
      cf.cond_br %holds, ^after, ^failed
    ^failed:
      %text = llvm.mlir.addressof @fmha_assert : !llvm.ptr
      llvm.call @mgpuFmhaFail(%text) : (!llvm.ptr) -> ()
      llvm.unreachable
    ^after:
    ```
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect"];
}

def RaiseNamed : Pass<"fmha-raise-named"> {
  let summary = "Raise the attention ops of other dialects to fmha.attention";
  let description = [{
    Matches attention ops of PyTorch, IREE, StableHLO and ONNX by name, so that their dialects need not be loaded
    (`--allow-unregistered-dialect` parses them in generic form), and replaces each by views and an `fmha.attention`. Masks
    and biases become its region `score`, and causal masks and windows its `mask`. docs/raising.md lists the forms and the
    reasons for which an op stays as it is; each such op gets a remark.

    Operands of f32 are rounded as `compute` says. Outputs keep their type.

    Before, in generic form:
    ```mlir
    %o = "stablehlo.composite"(%q, %k, %v) <{name = "odml.scaled_dot_product_attention",
        composite_attributes = {scale = 0.125 : f32}, decomposition = @sdpa}>
        : (tensor<2x?x8x64xbf16>, tensor<2x?x8x64xbf16>, tensor<2x?x8x64xbf16>) -> tensor<2x?x8x64xbf16>
    ```
    After:
    ```mlir
    %e = tensor.empty(%n) : tensor<2x?x8x64xbf16>
    %o = fmha.attention ins(%q, %k, %v : ...) outs(%e : ...) {scale = 0.125 : f64} -> tensor<2x?x8x64xbf16>
    ```
  }];
  let options = [
    ListOption<"from", "from", "std::string",
               "Dialects to raise from, all if none is named: torch, tm_tensor, iree_linalg_ext, stablehlo, onnx">,
    Option<"compute", "compute", "std::string", "\"\"",
           "Type to which operands of f32 are rounded: f16, bf16, or keep; without it such ops stay">,
    Option<"onnxSoftcap", "onnx-softcap", "std::string", "\"before-mask\"",
           "When onnx.Attention applies its soft cap: before-mask, as the reference does, or after-mask">
  ];
  let dependentDialects = [
    "::fmha::FMHADialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def RaiseLinalg : Pass<"fmha-raise-linalg"> {
  let summary = "Raise attention in linalg to fmha.attention";
  let description = [{
    Finds two products on tensors with a softmax between them, and replaces them by an `fmha.attention` and views of its
    operands. Ops are read by their indexing maps and bodies: named ops, `linalg.generic`, elementwise ops on tensors and
    their fusions are treated alike. Code between the first product and the softmax becomes the scale, the mask and the
    region `score`. docs/raising.md lists the steps that are recognized, and the reasons for which an attention stays as it
    is. Such an attention gets a missed remark; products without a softmax between them get none.

    The op keeps intermediate results in f32 where the source may round them to f16 or bf16, and rounds the probabilities to
    the type of the values. A row whose scores are all -inf gives 0 instead of NaN. A mask of large finite numbers stays
    one: a row that it hides gives the mean of the values, as in the source.

    Operands of f32 are rounded as `compute` says. Outputs keep their type.

    Before:
    ```mlir
    %s = linalg.batch_matmul indexing_maps = [#bik, #bjk, #bij] ins(%q, %k : ...) outs(%zeros : tensor<8x?x?xf32>)
    %p = linalg.softmax dimension(2) ins(%s : tensor<8x?x?xf32>) outs(%e : tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
    %o = linalg.batch_matmul ins(%p, %v : ...) outs(%zeros2 : tensor<8x?x64xf32>)
    ```
    After:
    ```mlir
    %q4 = tensor.expand_shape %q [[0], [1], [2, 3]] ... : tensor<8x?x64xf32> into tensor<8x?x1x64xf32>
    %o4 = fmha.attention ins(%q4, %k4, %v4 : ...) outs(%e : tensor<8x?x1x64xf32>) {scale = 1.0 : f64} -> tensor<8x?x1x64xf32>
    // %o is a view of %o4.
    ```
  }];
  let options = [
    Option<"compute", "compute", "std::string", "\"\"",
           "Type to which operands of f32 are rounded: f16, bf16, or keep; without it such attentions stay">
  ];
  let dependentDialects = [
    "::fmha::FMHADialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // FMHA_CONVERSION_PASSES_TD
