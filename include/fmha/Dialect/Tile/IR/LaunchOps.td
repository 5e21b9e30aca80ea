//===- LaunchOps.td - Output tiles of the launch ------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_LAUNCHOPS_TD
#define FMHA_DIALECT_TILE_IR_LAUNCHOPS_TD

include "fmha/Dialect/Tile/IR/MachineOps.td"

def Tile_TileCountOp : Tile_Op<"tile_count", [Pure]> {
  let summary = "Number of output tiles of the launch, the parameter `tiles` of a kernel whose grid may be smaller";
  let description = [{ `%n = tile.tile_count` }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_TryCancelOp : Tile_BarrierStageOp<"try_cancel", (ins Tile_AlignedOffsetAttr<16>:$offset)> {
  let summary = "clusterlaunchcontrol.try_cancel: requests the tile of a CTA that has not started";
  let description = [{
    The response is written to the 16 bytes at `offset` in shared memory and signals the barrier with that many bytes.
    After a response that cancels no CTA, no other request may follow.
    `tile.try_cancel to 231440 signals %next[%stage] : !tile.barrier<1>`
  }];
  let assemblyFormat = "`to` $offset `signals` $barrier `[` $stage `]` attr-dict `:` type($barrier)";
}

def Tile_QueryCancelOp : Tile_MachineOp<"query_cancel"> {
  let summary = "clusterlaunchcontrol.query_cancel: the number of the canceled CTA, -1 if there is none";
  let description = [{ `%tile = tile.query_cancel at 231440` }];
  let arguments = (ins Tile_AlignedOffsetAttr<16>:$offset);
  let results = (outs I32:$result);
  let assemblyFormat = "`at` $offset attr-dict";
}

def Tile_DrawTileOp : Tile_MachineOp<"draw_tile"> {
  let summary = "atom.inc of the parameter `tile_counter`: the number of a tile that no CTA has yet, -1 if there is none";
  let description = [{
    The first tile of a CTA is its number in the grid; draw n of the launch returns tile `gridDim.x` + n. Each CTA draws until
    it gets -1. After all CTAs have done so, there were `tiles` draws, and the counter is 0 again, since atom.inc wraps.
    `%tile = tile.draw_tile`
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_AnnounceTileOp : Tile_MachineOp<"announce_tile"> {
  let summary = "Passes the number of the next tile, -1 for none, to the other roles of the CTA, as message `message`";
  let description = [{
    `tile-lower-channels` turns the messages into a ring of numbers in shared memory with a barrier for full and one for free
    slots.
    `tile.announce_tile %tile[%n]`
  }];
  let arguments = (ins I32:$tile, Index:$message);
  let assemblyFormat = "$tile `[` $message `]` attr-dict";
}

def Tile_AwaitTileOp : Tile_MachineOp<"await_tile"> {
  let summary = "Waits for message `message` of announce_tile and returns its number";
  let description = [{ `%tile = tile.await_tile[%n]` }];
  let arguments = (ins Index:$message);
  let results = (outs Index:$result);
  let assemblyFormat = "`` `[` $message `]` attr-dict";
}

def Tile_SetNextTileOp : Tile_MachineOp<"set_next_tile"> {
  let summary = "Stores the number of the next tile in shared memory, -1 for none";
  let description = [{
    In a ring of numbers, `slot` is the slot of this number.
    `tile.set_next_tile %tile to 231464`, `tile.set_next_tile %tile to 231464[%slot]`
  }];
  let arguments = (ins I32:$tile, Tile_AlignedOffsetAttr<4>:$offset, Optional<Index>:$slot);
  let assemblyFormat = "$tile `to` $offset (`` `[` $slot^ `]`)? attr-dict";
}

def Tile_NextTileOp : Tile_MachineOp<"next_tile"> {
  let summary = "Reads the number that set_next_tile stored";
  let description = [{ `%tile = tile.next_tile at 231464` }];
  let arguments = (ins Tile_AlignedOffsetAttr<4>:$offset, Optional<Index>:$slot);
  let results = (outs I32:$result);
  let assemblyFormat = "`at` $offset (`` `[` $slot^ `]`)? attr-dict";
}

#endif // FMHA_DIALECT_TILE_IR_LAUNCHOPS_TD
