//===- Passes.td - Passes between the levels of the tile dialect ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define FMHA_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

class Tile_Pass<string flag> : Pass<flag, "::mlir::gpu::GPUFuncOp"> {
  let dependentDialects = [
    "::fmha::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::gpu::GPUDialect"
  ];
}

def TilePlace : Tile_Pass<"tile-place"> {
  let summary = "Give every tile a space, a layout and an address";
  let description = [{
    Asks the schedule's memory map (an op-free library) where each tile lies and writes the place into the types. Where a
    tile is needed in another place than it is made, a `tile.move` appears: scores from tensor memory to registers, P from
    registers to tensor memory or shared memory (this is where P placement is obeyed), the row statistics through shared
    memory. The program stays sequential. The map is verified before and after.

    Before:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ... -> !tile.tile<128x128xf32>
    %x = tile.mask %s at [...] keys %n : !tile.tile<128x128xf32>
    ```
    After:
    ```mlir
    %s = tile.dot %q, %k transpose_b : ... -> !tile.tile<128x128xf32, #tile.tmem<column = 0>>
    %r = tile.move %s : ... to !tile.tile<128x128xf32, #tile.registers>
    %x = tile.mask %r at [...] keys %n : !tile.tile<128x128xf32, #tile.registers>
    ```
  }];
}

def TileSpecialise : Tile_Pass<"tile-specialise"> {
  let summary = "Cut the sequential program into roles joined by channels";
  let description = [{
    load, mma, softmax0, softmax1, correction and store each keep their part of the loop over KV blocks; every value that
    crosses from one to another goes through a `tile.channel`. The MMA role is rotated: the scores of block j + 1 are
    issued right behind the product of block j, so that softmax always has a tile to work on.
  }];
}

def TileLowerChannels : Tile_Pass<"tile-lower-channels"> {
  let summary = "Turn channels into mbarriers with stages and phases";
  let description = [{
    A channel of depth d becomes d mbarriers for full slots and, unless it is unreleased or released by another, d for
    free ones. Message n lies in stage n mod d; a receiver waits for parity (n / d) mod 2, an acquirer for the other one,
    so that the first round passes on fresh barriers. Fences stand where a hand-off changes the proxy or touches tensor
    memory. Loads and stores become TMA boxes.

    Before:
    ```mlir
    %slot = tile.acquire %kv[%n] : !tile.channel<...> -> !tile.tile<...>
    ```
    After:
    ```mlir
    tile.wait %kv_free[%stage] parity %p : !tile.barrier<3>
    %slot = tile.slot %stage : !tile.tile<...>
    ```
  }];
}

def TileDistribute : Tile_Pass<"tile-distribute"> {
  let summary = "Give tiles to threads, and roles to warps";
  let description = [{
    A tile in registers becomes one row per thread (a vector), a tile in memory becomes an address; products become MMA
    instructions, moves become tensor memory loads and stores or swizzled shared memory stores. Softmax holds a whole row;
    correction walks the accumulator in a loop, 16 columns at a time. `tile.specialise` becomes branches over the warp
    index, with a prologue (barriers, tensor memory allocation, setmaxnreg) and an epilogue.
  }];
}

#endif // FMHA_DIALECT_TILE_TRANSFORMS_PASSES_TD
