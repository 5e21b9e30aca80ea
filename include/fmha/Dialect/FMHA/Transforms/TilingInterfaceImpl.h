//===- TilingInterfaceImpl.h - Tile fmha.attention --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_TRANSFORMS_TILINGINTERFACEIMPL_H
#define FMHA_DIALECT_FMHA_TRANSFORMS_TILINGINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fmha {
/// Lets upstream's tiling tile fmha.attention over the loops
///
///   batch, KV head, member of the group, query row: parallel
///   key: reduction
///
/// where query head h is member h mod g of the group of KV head h / g, and g =
/// q_heads / kv_heads. A group can be tiled if tiles have one KV head. Keys can
/// be tiled as a partial reduction only (transform.structured.
/// tile_reduction_using_forall, or _for): each tile becomes attention with
/// `unnormalised`, `row_max` and `row_sum`, and fmha.merge combines them. Batch
/// and rows of packed sequences are not tiled.
///
///   %o = fmha.attention ins(%q, %k, %v) outs(%out) {mask = #fmha.mask<causal>}
///   // with tile_sizes [0, 0, 0, 64] becomes
///   %o = scf.forall (%t) in (%tiles) shared_outs(%to = %out) {
///     %qt = tensor.extract_slice %q ...    // rows 64 t to 64 t + 63
///     %kt = tensor.extract_slice %k ...    // the keys that these rows see
///     %vt = tensor.extract_slice %v ...
///     %ot = fmha.attention ins(%qt, %kt, %vt) outs(...) {mask = ...}
///     ...
///   }
void registerTilingInterfaceExternalModels(mlir::DialectRegistry &registry);
} // namespace fmha

#endif // FMHA_DIALECT_FMHA_TRANSFORMS_TILINGINTERFACEIMPL_H
