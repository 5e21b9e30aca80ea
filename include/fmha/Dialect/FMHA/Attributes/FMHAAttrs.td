//===- FMHAAttrs.td - Attributes of the fmha dialect -------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_ATTRIBUTES_FMHAATTRS_TD
#define FMHA_DIALECT_FMHA_ATTRIBUTES_FMHAATTRS_TD

include "fmha/Dialect/FMHA/Attributes/FMHABase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

// Each attribute wraps one plain type of fmha/Schedule/Model/Schedule.h, so that
// the fields exist once.
class FMHA_Attr<string name, string attrMnemonic, string plainType,
                string accessorType = plainType> : AttrDef<FMHA_Dialect, name> {
  let mnemonic = attrMnemonic;
  let parameters = (ins AttrParameter<plainType, "wrapped value",
                                         accessorType>:$value);
  let returnType = plainType;
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = cppClassName # "::get($_builder.getContext(), $0)";
  let hasCustomAssemblyFormat = 1;
}

def FMHA_MaskAttr : FMHA_Attr<"Mask", "mask", "::fmha::schedule::Mask",
                              "const ::fmha::schedule::Mask &"> {
  let summary = "the keys that each query row attends to";
  let description = [{
    Row i sits at key p = i + kv_len - q_len (aligned bottom-right, so that the
    last row sits at the last key), or at p = i if the mask is `causal_top_left`.

    - `none`: nothing is hidden.
    - `causal`, `causal_top_left`: keys j > p are hidden.
    - `left = n`: keys j < p - n are hidden; none if absent.
    - `right = n`: keys j > p + n are hidden; none if absent.

    The conditions intersect. A row that sees no key gives O = 0 and LSE = -inf.
    Kernels skip KV blocks that are hidden from all rows of a CTA.

    Examples:
    ```mlir
    #fmha.mask<causal>
    #fmha.mask<causal, left = 127>            // a sliding window of 128 keys
    #fmha.mask<none, left = 64, right = 64>
    ```

    Constraints:
    - (mask.M1) `left` and `right` are at most 2^30.
  }];
  let genVerifyDecl = 1;
}

def FMHA_RoleAttr : FMHA_Attr<"Role", "role", "::fmha::schedule::Role",
                              "const ::fmha::schedule::Role &"> {
  let summary = "the warps of one role, and their registers";
  let description = [{
    Warps [first_warp, first_warp + warps) of the CTA have the role of that name,
    with `registers` 32-bit registers per thread.

    Example:
    ```mlir
    #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 192>
    ```

    Constraints:
    - (role.R1) The name is not empty.
    - (role.R2) `warps` is positive, and no warp index exceeds 31 (1024 threads).
    - (role.R3) `registers` is a multiple of 8 in [24, 256], as `setmaxnreg`
      requires (PTX ISA, "setmaxnreg").
  }];
  let genVerifyDecl = 1;
}

def FMHA_ScheduleAttr
    : FMHA_Attr<"Schedule", "schedule", "::fmha::schedule::Schedule",
                "const ::fmha::schedule::Schedule &"> {
  let summary = "the schedule of one attention kernel";
  let description = [{
    The schedule is data: the planner writes it, a user may write it by hand,
    passes only obey it. Fields may be in any order; an absent one has the default
    that the example shows. All fields are printed.

    Example:
    ```mlir
    #fmha.schedule<target = "sm_100a", family = mma, q_tiles = 2, q_tile_rows = 128,
      kv_block = 128, pack_heads = 1, cta_group = 1, kv_stages = 3, v_stages = 0,
      key_chunk = 0, value_chunk = 0, share_kv = false, o_columns = 0,
      p_placement = tmem, p_slices = 1, rescale_threshold = 8.0, p_offset = 0,
      accumulate = f32, exp2_emulated = 0,
      scheduler = single, ctas_per_sm = 1, splits = 1, roles = [
        #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 192>]>
    ```

    docs/fields.md describes the fields. `rescale_threshold` + `p_offset` is at
    most 15 for f16 and 96 for bf16, so that P is finite; O is finite as long as
    kv_len times the largest |v| stays below
    2^(128 - rescale_threshold - p_offset).

    Constraints (of the attribute alone; capacities are checked if it is on an op):
    - (schedule.S1) `target` is not empty.
    - (schedule.S2) `q_tiles` is 1, 2 or 3.
    - (schedule.S3) `q_tile_rows` is positive, `kv_block` a positive multiple of 16.
    - (schedule.S4) `cta_group` is 1 or 2.
    - (schedule.S5) `kv_stages`, `p_slices`, `ctas_per_sm` and `splits` are positive.
    - (schedule.S6) `rescale_threshold` is finite and not negative.
    - (schedule.S7) `exp2_emulated` is a percentage, 0 to 100.
    - (schedule.S8) Role names are unique.
    - (schedule.S9) No warp has two roles.
    - (schedule.S10) Roles in the same warpgroup (4 warps) have the same registers,
      since a warpgroup executes `setmaxnreg`.
    - (schedule.S11) The registers of all warpgroups, 128 threads each, sum up to
      at most 65536.
    - (schedule.S12) `key_chunk` is a multiple of 64 columns, `value_chunk` and
      `o_columns` are multiples of 16.
    - (schedule.S13) `share_kv` excludes `v_stages`, `key_chunk` and `value_chunk`: a
      block is one message of one ring.
    - (schedule.S14) `pack_heads` is a power of two.
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the schedule for libraries that do not depend on MLIR.
    const ::fmha::schedule::Schedule &toSchedule() const {
      return getValue();
    }
  }];
}

def FMHA_ProblemAttr
    : FMHA_Attr<"Problem", "problem", "::fmha::KernelProblem",
                "const ::fmha::KernelProblem &"> {
  let summary = "the problem that a kernel solves";
  let description = [{
    Everything of a `fmha.attention` that determines the function of its kernel.
    Fields may be in any order; those with their default value, which the first
    example shows, are not printed. The names of the facts that are true
    (docs/fields.md) follow.

    Examples:
    ```mlir
    #fmha.problem<dtype = bf16, head_dim = 128, head_dim_v = 128,
      mask = #fmha.mask<none>, source2_mask = #fmha.mask<none>, captures = []>
    #fmha.problem<head_dim = 64, head_dim_v = 64, mask = #fmha.mask<causal>,
      page_size = 16,
      scale = 1.250000e-01, captures = [memref<?x?xf32>], lse, kv_lens, score>
    ```

    Constraints:
    - (problem.P1) `captures` are memref types of rank 0 to 8 with elements f32, f16, bf16,
      i64, i32, i8 or i1.
    - (problem.P2) Lists of blocks have `kv_num_blocks`, `kv_indices`, `block_rows` and `block_keys`, and both of
      `full_kv_num_blocks` and `full_kv_indices`, or neither.
  }];
  let genVerifyDecl = 1;
}

def FMHA_Rotary : I32EnumAttr<"Rotary", "the pairs that a rotary embedding rotates", [
    I32EnumAttrCase<"Half", 0, "half">,
    I32EnumAttrCase<"Interleaved", 1, "interleaved">]> {
  let cppNamespace = "::fmha";
  let genSpecializedAttr = 0;
}

def FMHA_RotaryAttr : EnumAttr<FMHA_Dialect, FMHA_Rotary, "rotary"> {
  let summary = "which columns of a row form the pairs of a rotary embedding";
  let description = [{
    Pair j of the first 2n columns of a row:

    - `half`: columns j and j + n (GPT-NeoX);
    - `interleaved`: columns 2j and 2j + 1 (GPT-J).

    Example:
    ```mlir
    #fmha<rotary half>
    ```
  }];
}

#endif // FMHA_DIALECT_FMHA_ATTRIBUTES_FMHAATTRS_TD
