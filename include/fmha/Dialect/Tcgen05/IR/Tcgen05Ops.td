//===- Tcgen05Ops.td - All of tcgen05, one op, one instruction -*- tablegen -*-//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TCGEN05_IR_TCGEN05OPS_TD
#define FMHA_DIALECT_TCGEN05_IR_TCGEN05OPS_TD

include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tcgen05_Dialect : Dialect {
  let name = "tcgen05";
  let cppNamespace = "::fmha::tcgen05";
  let summary = "The fifth-generation tensor core: one op, one instruction";
  let description = [{
    The dialect has every tcgen05 instruction of PTX ISA 9.2 that sm_100a has, and `tcgen05.ld.red` of other targets. Its
    verifiers accept the forms of `Tcgen05Forms.def`, which has the manual's tables. Where CUTLASS takes fewer shapes of
    products than the manual, the table has those of CUTLASS, and the verifier rejects the others; it also rejects sparsity
    selectors that the simulator does not execute. `convert-tcgen05-to-nvvm` turns each op into the NVVM op of its
    instruction. Attention uses the machine ops of the
    tile dialect instead, which have the few forms that it needs and whose synchronization `tile-verify-sync` knows.

    Effects are on three resources: tensor memory, shared memory and mbarriers. A `wait` reads and writes tensor memory and a
    `fence` all three, so that no access moves across them; a load that nothing uses can be erased.

    Inline PTX with the attribute `tcgen05.convergent` is convergent in LLVM: a whole warp executes it, so that LLVM copies it to
    no paths of a branch.

    Addresses in tensor memory are `!llvm.ptr<6>`, those in shared memory `!llvm.ptr<3>`; matrices in shared memory are
    64-bit descriptors. All instructions but `alloc`, `relinquish`, `dealloc`, `ld`, `ld_red`, `st` and `wait`, which a whole
    warp executes, are issued by one thread and complete asynchronously: `commit` signals their completion.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

class Tcgen05_Enum<string name, string what, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, what, cases> {
  let cppNamespace = "::fmha::tcgen05";
  let genSpecializedAttr = 0;
}

def Tcgen05_MmaKind : Tcgen05_Enum<"MmaKind", "a kind of products", [
    I32EnumAttrCase<"F16", 0, "f16">, I32EnumAttrCase<"TF32", 1, "tf32">, I32EnumAttrCase<"F8F6F4", 2, "f8f6f4">,
    I32EnumAttrCase<"I8", 3, "i8">, I32EnumAttrCase<"MXF8F6F4", 4, "mxf8f6f4">, I32EnumAttrCase<"MXF4", 5, "mxf4">,
    I32EnumAttrCase<"MXF4NVF4", 6, "mxf4nvf4">]>;
def Tcgen05_MmaKindAttr : EnumAttr<Tcgen05_Dialect, Tcgen05_MmaKind, "kind">;

def Tcgen05_Collector : Tcgen05_Enum<"Collector", "what a collector buffer does with an operand", [
    I32EnumAttrCase<"Discard", 0, "discard">, I32EnumAttrCase<"LastUse", 1, "lastuse">,
    I32EnumAttrCase<"Fill", 2, "fill">, I32EnumAttrCase<"Use", 3, "use">]>;
def Tcgen05_CollectorAttr : EnumAttr<Tcgen05_Dialect, Tcgen05_Collector, "collector">;

def Tcgen05_MoveShape : Tcgen05_Enum<"MoveShape", "lanes and bits of an access to tensor memory", [
    I32EnumAttrCase<"Shape16x64b", 0, "shape_16x64b">, I32EnumAttrCase<"Shape16x128b", 1, "shape_16x128b">,
    I32EnumAttrCase<"Shape16x256b", 2, "shape_16x256b">, I32EnumAttrCase<"Shape32x32b", 3, "shape_32x32b">,
    I32EnumAttrCase<"Shape16x32bx2", 4, "shape_16x32bx2">]>;
def Tcgen05_MoveShapeAttr : EnumAttr<Tcgen05_Dialect, Tcgen05_MoveShape, "move">;

def Tcgen05_CopyShape : Tcgen05_Enum<"CopyShape", "rows and bits of a copy", [
    I32EnumAttrCase<"Shape128x256b", 0, "shape_128x256b">, I32EnumAttrCase<"Shape4x256b", 1, "shape_4x256b">,
    I32EnumAttrCase<"Shape128x128b", 2, "shape_128x128b">, I32EnumAttrCase<"Shape64x128b", 3, "shape_64x128b">,
    I32EnumAttrCase<"Shape32x128b", 4, "shape_32x128b">]>;
def Tcgen05_CopyShapeAttr : EnumAttr<Tcgen05_Dialect, Tcgen05_CopyShape, "copy">;

def Tcgen05_Multicast : Tcgen05_Enum<"Multicast", "the warps that a copy goes to", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Warpx2_02_13", 1, "warpx2_02_13">,
    I32EnumAttrCase<"Warpx2_01_23", 2, "warpx2_01_23">, I32EnumAttrCase<"Warpx4", 3, "warpx4">]>;
def Tcgen05_MulticastAttr : EnumAttr<Tcgen05_Dialect, Tcgen05_Multicast, "multicast">;

def Tcgen05_Packing : Tcgen05_Enum<"Packing", "a packed format of elements", [
    I32EnumAttrCase<"B6x16_P32", 0, "b6x16_p32">, I32EnumAttrCase<"B4x16_P64", 1, "b4x16_p64">]>;
def Tcgen05_PackingAttr : EnumAttr<Tcgen05_Dialect, Tcgen05_Packing, "packing">;

def Tcgen05_Access : Tcgen05_Enum<"Access", "which accesses of a thread", [
    I32EnumAttrCase<"Load", 0, "load">, I32EnumAttrCase<"Store", 1, "store">]>;
def Tcgen05_AccessAttr : EnumAttr<Tcgen05_Dialect, Tcgen05_Access, "access">;

def Tcgen05_Extremum : Tcgen05_Enum<"Extremum", "which extremum", [
    I32EnumAttrCase<"Min", 0, "min">, I32EnumAttrCase<"Max", 1, "max">]>;
def Tcgen05_ExtremumAttr : EnumAttr<Tcgen05_Dialect, Tcgen05_Extremum, "extremum">;

def Tcgen05_Moment : Tcgen05_Enum<"Moment", "where a fence stands", [
    I32EnumAttrCase<"Before", 0, "before">, I32EnumAttrCase<"After", 1, "after">]>;
def Tcgen05_MomentAttr : EnumAttr<Tcgen05_Dialect, Tcgen05_Moment, "moment">;

def Tcgen05_Group : DefaultValuedAttr<ConfinedAttr<I32Attr, [IntIsOneOf<[1, 2]>]>, "1">;
def Tcgen05_Columns : ConfinedAttr<I32Attr, [IntIsOneOf<[32, 64, 128, 256, 512]>]>;
/// The registers of a thread: their number is a power of two.
def Tcgen05_RegisterVector : Type<
    And<[FixedVectorOfRankAndType<[1], [I32]>.predicate, FixedVectorOfLengthAndType<[2, 4, 8, 16, 32, 64, 128], [I32]>.predicate]>,
    "fixed vector of rank 1 with 2, 4, 8, 16, 32, 64 or 128 elements of i32", "::mlir::VectorType">;
def Tcgen05_Registers : AnyTypeOf<[I32, Tcgen05_RegisterVector]>;
/// Columns between the two accesses of shape 16x32bx2, inside tensor memory.
def Tcgen05_Offset : OptionalAttr<ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<511>]>>;
def Tcgen05_Extent : ConfinedAttr<I32Attr, [IntPositive]>;

def Tcgen05_TensorMemory : Resource<"::fmha::tcgen05::TensorMemory">;
def Tcgen05_SharedMemory : Resource<"::fmha::tcgen05::SharedMemory">;
def Tcgen05_Barriers : Resource<"::fmha::tcgen05::Barriers">;
/// An op with one of these keeps its place among those that the resource has.
defvar Tcgen05_Tensor = [MemRead<Tcgen05_TensorMemory>, MemWrite<Tcgen05_TensorMemory>];
defvar Tcgen05_All = !listconcat(Tcgen05_Tensor, [MemRead<Tcgen05_SharedMemory>, MemWrite<Tcgen05_SharedMemory>,
                                                  MemRead<Tcgen05_Barriers>, MemWrite<Tcgen05_Barriers>]);

class Tcgen05_Op<string mnemonic, list<MemoryEffect> effects, list<Trait> traits = []>
    : Op<Tcgen05_Dialect, mnemonic, !listconcat([MemoryEffects<effects>], traits)>;

def Tcgen05_AllocOp : Tcgen05_Op<"alloc", [MemAlloc<Tcgen05_TensorMemory>, MemWrite<Tcgen05_SharedMemory>]> {
  let summary = "Allocates columns of tensor memory and stores their address in shared memory";
  let description = [{ `tcgen05.alloc 128 to %slot : !llvm.ptr<3>`, in a pair of CTAs `tcgen05.alloc 128 to %slot {cta_group = 2 : i32} : !llvm.ptr<3>` }];
  let arguments = (ins Tcgen05_Columns:$columns, LLVM_PointerInAddressSpace<3>:$slot, Tcgen05_Group:$cta_group);
  let assemblyFormat = "$columns `to` $slot attr-dict `:` type($slot)";
}

def Tcgen05_RelinquishOp : Tcgen05_Op<"relinquish", Tcgen05_Tensor> {
  let summary = "tcgen05.relinquish_alloc_permit: the CTA allocates no more";
  let description = [{ `tcgen05.relinquish` }];
  let arguments = (ins Tcgen05_Group:$cta_group);
  let assemblyFormat = "attr-dict";
}

def Tcgen05_DeallocOp : Tcgen05_Op<"dealloc", [MemFree<Tcgen05_TensorMemory>]> {
  let summary = "Returns columns of tensor memory";
  let description = [{ `tcgen05.dealloc 128 at %t : !llvm.ptr<6>` }];
  let arguments = (ins Tcgen05_Columns:$columns, LLVM_PointerInAddressSpace<6>:$address, Tcgen05_Group:$cta_group);
  let assemblyFormat = "$columns `at` $address attr-dict `:` type($address)";
}

def Tcgen05_FenceOp : Tcgen05_Op<"fence", Tcgen05_All> {
  let summary = "Orders asynchronous tcgen05 operations before or after a synchronization of threads";
  let description = [{ `tcgen05.fence before` }];
  let arguments = (ins Tcgen05_MomentAttr:$moment);
  let assemblyFormat = "`` $moment attr-dict";
}

def Tcgen05_CommitOp : Tcgen05_Op<"commit", [MemRead<Tcgen05_TensorMemory>, MemWrite<Tcgen05_Barriers>]> {
  let summary = "Arrives at an mbarrier when the earlier operations of this thread are complete";
  let description = [{
    With `multicast` it arrives at the barriers at the same offset in the CTAs of the mask.
    `tcgen05.commit %bar : !llvm.ptr<3>`, `tcgen05.commit %bar multicast %mask {cta_group = 2 : i32} : !llvm.ptr<3>`
  }];
  let arguments = (ins LLVM_PointerInAddressSpace<3>:$barrier, Optional<I16>:$mask, Tcgen05_Group:$cta_group);
  let assemblyFormat = "$barrier (`multicast` $mask^)? attr-dict `:` type($barrier)";
}

def Tcgen05_LdOp : Tcgen05_Op<"ld", [MemRead<Tcgen05_TensorMemory>]> {
  let summary = "Loads lanes of tensor memory into the registers of a warp";
  let description = [{
    The number of registers determines the number of repetitions of the shape. With `pack` a register gets the low halves
    of two columns. `offset` is the distance of the two accesses of `shape_16x32bx2`. The registers may be read after `wait
    load`, which returns them.

    ```mlir
    %v = tcgen05.ld shape_32x32b %t : !llvm.ptr<6> -> vector<32xi32>
    %w = tcgen05.ld shape_16x32bx2 %t offset 16 {pack} : !llvm.ptr<6> -> vector<8xi32>
    ```

    Constraints: the registers are a whole number of repetitions, at most the table's; `offset` is given for
    `shape_16x32bx2` alone.
  }];
  let arguments = (ins Tcgen05_MoveShapeAttr:$shape, LLVM_PointerInAddressSpace<6>:$address, Tcgen05_Offset:$offset,
                       UnitAttr:$pack);
  let results = (outs Tcgen05_Registers:$registers);
  let assemblyFormat = "`` $shape $address (`offset` $offset^)? attr-dict `:` type($address) `->` type($registers)";
  let hasVerifier = 1;
}

def Tcgen05_LdRedOp : Tcgen05_Op<"ld_red", [MemRead<Tcgen05_TensorMemory>]> {
  let summary = "Loads lanes of tensor memory, and the extremum of each lane";
  let description = [{
    `element` is the type by which registers are compared. `abs` takes absolute values, `nan` keeps a NaN. ptxas 13.0
    takes the instruction for the targets of `Tcgen05Forms.def` alone, not for sm_100a; `convert-tcgen05-to-nvvm` reports
    other targets. Of those targets, LLVM 22.1 compiles `alloc` and most other ops only for sm_101a.

    LLVM 22.1 has no intrinsic for it, so it becomes inline PTX, which is marked `tcgen05.convergent`.

    ```mlir
    %v, %m = tcgen05.ld_red max shape_32x32b %t of f32 {abs} : !llvm.ptr<6> -> vector<16xi32>
    ```

    Constraints: the shape is `shape_32x32b` or `shape_16x32bx2` with at least two registers; `element` is f32, ui32 or
    si32; `abs` and `nan` are for f32; `offset` is given for `shape_16x32bx2` alone.
  }];
  let arguments = (ins Tcgen05_ExtremumAttr:$extremum, Tcgen05_MoveShapeAttr:$shape, LLVM_PointerInAddressSpace<6>:$address,
                       Tcgen05_Offset:$offset, TypeAttr:$element, UnitAttr:$abs, UnitAttr:$nan);
  let results = (outs Tcgen05_Registers:$registers, I32:$result);
  let assemblyFormat = [{
    `` $extremum $shape $address (`offset` $offset^)? `of` $element attr-dict `:` type($address) `->` type($registers)
  }];
  let hasVerifier = 1;
}

def Tcgen05_StOp : Tcgen05_Op<"st", [MemWrite<Tcgen05_TensorMemory>]> {
  let summary = "Stores the registers of a warp to lanes of tensor memory";
  let description = [{
    The operands are those of `tcgen05.ld`; with `unpack` the halves of a register go to two columns.
    `tcgen05.st shape_16x64b %v to %t {unpack} : vector<8xi32>, !llvm.ptr<6>`
  }];
  let arguments = (ins Tcgen05_MoveShapeAttr:$shape, Tcgen05_Registers:$registers, LLVM_PointerInAddressSpace<6>:$address,
                       Tcgen05_Offset:$offset, UnitAttr:$unpack);
  let assemblyFormat = [{
    `` $shape $registers `to` $address (`offset` $offset^)? attr-dict `:` type($registers) `,` type($address)
  }];
  let hasVerifier = 1;
}

def Tcgen05_WaitOp : Tcgen05_Op<"wait", Tcgen05_Tensor, [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Waits until all earlier loads or stores of this thread are complete";
  let description = [{
    After loads, the results are the registers of the operands; no use of them can move before the wait.
    `%w = tcgen05.wait load of %v : vector<32xi32>`, `tcgen05.wait store`

    Constraints: registers are given for loads alone.
  }];
  let arguments = (ins Tcgen05_AccessAttr:$access, Variadic<Tcgen05_Registers>:$values);
  let results = (outs Variadic<Tcgen05_Registers>:$ready);
  let assemblyFormat = "`` $access (`of` $values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Tcgen05_CpOp : Tcgen05_Op<"cp", [MemRead<Tcgen05_SharedMemory>, MemWrite<Tcgen05_TensorMemory>]> {
  let summary = "Copies rows of shared memory to lanes of tensor memory";
  let description = [{
    `packing` names a packed format of 4- or 6-bit elements that the copy expands to bytes.

    ```mlir
    tcgen05.cp shape_128x256b %desc to %t : !llvm.ptr<6>
    tcgen05.cp shape_64x128b %desc to %t multicast warpx2_02_13 unpacking b6x16_p32 : !llvm.ptr<6>
    ```

    Constraints: the table has the shape with this multicast.
  }];
  let arguments = (ins Tcgen05_CopyShapeAttr:$shape, I64:$source, LLVM_PointerInAddressSpace<6>:$address,
                       DefaultValuedAttr<Tcgen05_MulticastAttr, "::fmha::tcgen05::Multicast::None">:$multicast,
                       OptionalAttr<Tcgen05_PackingAttr>:$packing, Tcgen05_Group:$cta_group);
  let assemblyFormat = [{
    `` $shape $source `to` $address (`multicast` $multicast^)? (`unpacking` $packing^)? attr-dict `:` type($address)
  }];
  let hasVerifier = 1;
}

def Tcgen05_ShiftOp : Tcgen05_Op<"shift", Tcgen05_Tensor> {
  let summary = "Moves 8 columns of 31 lanes to the lane before";
  let description = [{
    Lane i gets the data of lane i + 1; the last of the 32 lanes keeps its own. The direction is read from the text of CuTe
    DSL; we have not measured it. `tcgen05.shift %t : !llvm.ptr<6>`
  }];
  let arguments = (ins LLVM_PointerInAddressSpace<6>:$address, Tcgen05_Group:$cta_group);
  let assemblyFormat = "$address attr-dict `:` type($address)";
}

def Tcgen05_MmaOp : Tcgen05_Op<"mma", [MemRead<Tcgen05_SharedMemory>, MemRead<Tcgen05_TensorMemory>, MemWrite<Tcgen05_TensorMemory>], [AttrSizedOperandSegments]> {
  let summary = "D = A x B, or D + A x B, for matrices in shared and tensor memory";
  let description = [{
    `a` is a descriptor (shared memory) or an address (tensor memory). D is overwritten unless `accumulate`. The types, M and
    N, and the flags make the instruction descriptor; K is that of the kind. `metadata` is the address of the metadata of
    sparse A, `scales` those of the scale factors of A and B, one for each `block` elements. `disable` gives words whose
    bits disable lanes of D.

    - `cta_group`: CTAs that compute the product together.
    - `ws`: weight stationary, `.ws`; the collector keeps B in buffer `buffer`; otherwise it keeps A.
    - `collector`: what the collector does with its operand.
    - `ashift`: the product also moves A in tensor memory by a lane, as `tcgen05.shift` does. The direction is read from the
      text of CuTe DSL; we have not measured it.
    - `transpose_a`, `transpose_b`: A or B in shared memory is contiguous along M or N, not along K.
    - `negate_a`, `negate_b`: A or B is multiplied by -1.
    - `saturate`: integers of D are clamped; without it they wrap around.
    - `scale_d`: the old D is multiplied by 2 to the power of minus this.
    - `selector`: which columns of a group hold the metadata of sparse A.
    - `max_shift`: the largest shift of the columns of B that `zero_columns` may name.
    - `block`, `scale_type`: elements of a scale factor and its type.
    - `scale_a_id`, `scale_b_id`: the first byte of a column that holds scale factors of A or B.

    ```mlir
    tcgen05.mma f16 %d, %a, %b accumulate %p shape 128 x 64 of bf16, bf16 to f32 : i64
    tcgen05.mma tf32 %d, %at, %b accumulate %p disable [%m0, %m1, %m2, %m3] shape 128 x 64 of tf32, tf32 to f32
        {ashift} : !llvm.ptr<6>
    tcgen05.mma mxf4nvf4 %d, %a, %b accumulate %p scales %sa, %sb shape 128 x 64 of f4E2M1FN, f4E2M1FN to f32
        {block = 16 : i32, scale_type = f8E4M3FN} : i64
    tcgen05.mma i8 %d, %a, %b accumulate %p metadata %e zero_columns %z shape 32 x 64 of si8, ui8 to si32
        {ws, collector = #tcgen05<collector fill>, buffer = 2 : i32} : i64
    ```

    Constraints: the tables of `Tcgen05Forms.def` have the kind, its types, its scale factors and M x N; a flag is for the
    kinds that have its property; `ws` excludes `ashift`, disabled lanes and `scale_d`, and alone has zero columns,
    `max_shift` and buffers 1 to 3; `max_shift` is for M of 64 and 128 with zero columns, since the product traps with M of
    32 (read, not measured).
  }];
  let arguments = (ins Tcgen05_MmaKindAttr:$kind, LLVM_PointerInAddressSpace<6>:$d,
                       AnyTypeOf<[I64, LLVM_PointerInAddressSpace<6>]>:$a, I64:$b, I1:$accumulate,
                       Optional<LLVM_PointerInAddressSpace<6>>:$metadata, Optional<LLVM_PointerInAddressSpace<6>>:$scale_a,
                       Optional<LLVM_PointerInAddressSpace<6>>:$scale_b, Variadic<I32>:$disabled, Optional<I64>:$zero_columns,
                       Tcgen05_Extent:$m, Tcgen05_Extent:$n, TypeAttr:$a_type, TypeAttr:$b_type, TypeAttr:$d_type,
                       Tcgen05_Group:$cta_group, UnitAttr:$ws, UnitAttr:$ashift, UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       UnitAttr:$negate_a, UnitAttr:$negate_b, UnitAttr:$saturate,
                       DefaultValuedAttr<Tcgen05_CollectorAttr, "::fmha::tcgen05::Collector::Discard">:$collector,
                       DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<3>]>, "0">:$buffer,
                       DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<15>]>, "0">:$scale_d,
                       DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<3>]>, "0">:$selector,
                       DefaultValuedAttr<ConfinedAttr<I32Attr, [IntIsOneOf<[0, 8, 16, 32]>]>, "0">:$max_shift,
                       OptionalAttr<Tcgen05_Extent>:$block, OptionalAttr<TypeAttr>:$scale_type,
                       DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<3>]>, "0">:$scale_a_id,
                       DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<3>]>, "0">:$scale_b_id);
  let assemblyFormat = [{
    `` $kind $d `,` $a `,` $b `accumulate` $accumulate (`metadata` $metadata^)? (`scales` $scale_a^ `,` $scale_b)?
    (`disable` `[` $disabled^ `]`)? (`zero_columns` $zero_columns^)? `shape` $m `x` $n `of` $a_type `,` $b_type `to` $d_type
    attr-dict `:` type($a)
  }];
  let builders = [
    // A dense product of operands of one type, in one CTA.
    OpBuilder<(ins "MmaKind":$kind, "::mlir::Value":$d, "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$accumulate,
                   "::mlir::ValueRange":$disabled, "unsigned":$m, "unsigned":$n, "::mlir::Type":$type, "::mlir::Type":$result)>
  ];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the form, whose check() the verifier reports.
    ::fmha::tcgen05::MmaForm getForm();
  }];
}

#endif // FMHA_DIALECT_TCGEN05_IR_TCGEN05OPS_TD
