//===- KernelAbi.h - Parameters of a compiled kernel ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The list of a kernel's parameters, which the conversion and the launch
// manifest both use.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_KERNEL_KERNELABI_H
#define FMHA_KERNEL_KERNELABI_H

#include <optional>
#include <string>
#include <vector>

namespace fmha::schedule {
struct Problem;
struct Schedule;
} // namespace fmha::schedule

namespace fmha {

struct KernelParameter {
  enum class Kind { TensorMap, Pointer, U64, U32 };
  std::string name;
  Kind kind;
  /// The number of the capture of the problem that this is, or has an extent or
  /// stride of.
  std::optional<unsigned> capture = std::nullopt;
  /// In a program, the number of the operand that this is or belongs to, and
  /// the dimension of which it is the extent or stride.
  unsigned operand = 0;
  std::optional<unsigned> dimension = std::nullopt;
};

/// Returns the operands of the kernel at the levels of tiles: q, k, v, o as
/// tensor maps, or o as a pointer if it is in f32; k2 and v2 if there is a
/// second KV segment; lse, row_max, row_sum, kv_lens, cu_seqlens_q,
/// cu_seqlens_k, sink, source2_lens, block_tables, topk, kv_num_blocks,
/// kv_indices, full_kv_num_blocks, full_kv_indices, scales, key_new,
/// value_new, rotary_cos and rotary_sin as pointers, if the problem has them;
/// the number max_q_len if there is cu_seqlens_q; the number max_pages, the
/// length of a row of block_tables, if there are pages; the number topk_len,
/// the length of a list of topk, if there are lists; the numbers blocks_batch,
/// blocks_heads and blocks_len, the extents of kv_indices, and full_blocks_len,
/// the length of a list of full_kv_indices, each if the problem has the tensor;
/// the number batch if the kernel writes splits of queries that are not packed;
/// then capture0, capture1, ... as pointers.
std::vector<KernelParameter> kernelOperands(const schedule::Problem &problem);

/// The tables of angles of a rotary embedding.
inline constexpr const char *angleTables[] = {"rotary_cos", "rotary_sin"};

/// Returns the name of the pointer to the memory of `tensor`, k or v, in a
/// kernel that has a tensor map of it as well.
std::string cachePointer(const std::string &tensor);
/// Returns the tensor that the pointer `parameter` points to.
std::string tensorOfPointer(const std::string &parameter);

/// Returns all parameters of the kernel, in this order, with strides in
/// elements:
/// - the operands, with pointers in place of tensor maps if threads use
///   addresses, of q also if threads rotate it
/// - the pointers k_cache and v_cache, if threads write new keys to caches that
///   have tensor maps
/// - the strides of batch, row and head of those of q, k, v and o that are or
///   have pointers, or of which TMA gathers rows, and of key_new and value_new
/// - the stride of vectors, for keys in vectors
/// - the strides of the rows of rotary_cos and rotary_sin, if there are any
/// - the strides of batch, head and row of lse, row_max and row_sum, if there
///   are any
/// - q_len, kv_len, q_heads, kv_heads
/// - pages, the number of pages of the caches, if they have pages
/// - new_len, the length of key_new, if there is one
/// - positions, the length of rotary_cos, if there is one
/// - kv_len2, if there is a second KV segment
/// - for each capture its extents, capture0_size0, ..., then its strides,
///   capture0_stride0, ..., without the last one, which is 1
/// - the number of output tiles, `tiles`, if it does not follow from the grid
/// - the pointer `tile_counter`, if CTAs draw tiles
std::vector<KernelParameter>
kernelParameters(const schedule::Problem &problem,
                 const schedule::Schedule &schedule);

/// Returns the index of the parameter with that name, if there is one.
std::optional<unsigned>
parameterIndex(const std::vector<KernelParameter> &parameters,
               const std::string &name);

/// Returns the name of the parameter for extent `dimension` ([batch, length,
/// heads, dim]) of the operand with that name (q, k, v, o, k2, v2), if there is
/// one. The batch extent of k and v, which is the number of pages, is a
/// parameter only with paged caches.
std::optional<std::string> extentParameter(const std::string &operand,
                                           unsigned dimension);

} // namespace fmha

#endif // FMHA_KERNEL_KERNELABI_H
