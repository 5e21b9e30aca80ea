//===- ChannelOps.td - Roles and the channels between them -*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_CHANNELOPS_TD
#define FMHA_DIALECT_TILE_IR_CHANNELOPS_TD

include "fmha/Dialect/Tile/IR/ListOps.td"

def Tile_WarpSpecializeOp : Tile_Op<"warp_specialize", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "Roles that run concurrently, each on its own warps";
  let description = [{
    Holds `tile.role` ops only. Values from above are visible in every role; a value that one role computes reaches
    another role through a channel only.

    ```mlir
    tile.warp_specialize {
      tile.role "load" warps 12 to 13 registers 48 { ... }
      tile.role "mma" warps 13 to 14 registers 48 { ... }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasRegionVerifier = 1;
}

def Tile_RoleOp : Tile_Op<"role", [NoTerminator, SingleBlock, MemoryEffects<[MemWrite]>, HasParent<"WarpSpecializeOp">]> {
  let summary = "The work of warps [first, last) of the CTA";
  let description = [{
    `registers` is the count per thread that setmaxnreg sets; roles of one warpgroup (4 warps) share it. `single_thread`
    marks a role that one elected thread executes (it issues TMA and MMA). A role without ops is kept, because its warps
    have to take part in setmaxnreg and in the barriers of the CTA.
  }];
  let arguments = (ins StrAttr:$name, I32Attr:$first_warp, I32Attr:$last_warp, I32Attr:$registers,
                       UnitAttr:$single_thread);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `warps` $first_warp `to` $last_warp `registers` $registers (`single_thread` $single_thread^)? $body attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_ChannelOp : Tile_Op<"channel", []> {
  let summary = "Joins a producing role and a consuming role";
  let description = [{
    Message n lies in stage n mod depth. A message may be smaller than the channel's tile, which is the largest message;
    it lies at the start of its stage (`pitch` of `#tile.smem`). `from` is the agent that signals that a message is full,
    `to` the agent that signals that its slot may be written again; `arrivals` are the numbers of threads that signal on
    the two sides (1 for a TMA or MMA signal). The agent
    `cp_async` is the threads of a `tile.copy_rows`, which signal once their copies are complete. `unreleased` marks a channel that needs no release: its slot is never
    written twice, or the next message depends on this one (an accumulator that two roles update in turn). `released_by`
    names another channel whose release also frees the slot of this one (S, whose columns P takes).

    ```mlir
    %kv = tile.channel "kv" from tma to mma arrivals 1, 1
        : !tile.channel<!tile.tile<128x128xbf16, #tile.smem<offset = 65536, stages = 3>>>
    %s0 = tile.channel "s0" from mma to threads arrivals 1, 128 released_by "p0" : !tile.channel<...>
    ```
  }];
  let arguments = (ins StrAttr:$name, Tile_AgentAttr:$producer, Tile_AgentAttr:$consumer, Tile_ArrivalsAttr:$producer_arrivals,
                       Tile_ArrivalsAttr:$consumer_arrivals, UnitAttr:$unreleased, OptionalAttr<StrAttr>:$released_by);
  let results = (outs Tile_ChannelType:$result);
  let assemblyFormat = [{
    $name `from` `` $producer `to` `` $consumer `arrivals` $producer_arrivals `,` $consumer_arrivals
    (`unreleased` $unreleased^)? (`released_by` $released_by^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getDepth() { return getType().getDepth(); }
    /// Whether the channel has barriers of its own for free slots.
    bool hasReleaseBarrier() { return !getUnreleased() && !getReleasedBy(); }
  }];
}

class Tile_ChannelEndOp<string mnemonic> : Tile_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = (ins Tile_ChannelType:$channel, Index:$message);
}

class Tile_SlotOp<string mnemonic> : Tile_ChannelEndOp<mnemonic> {
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$channel `[` $message `]` attr-dict `:` type($channel) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_AcquireOp : Tile_SlotOp<"acquire"> {
  let summary = "Producer acquire: waits until the slot of message `message` is free";
  let description = [{ `%slot = tile.acquire %kv[%n] : !tile.channel<!tile.tile<...>> -> !tile.tile<...>` }];
}

def Tile_ReceiveOp : Tile_SlotOp<"receive"> {
  let summary = "Consumer wait: waits until message `message` is full";
  let description = [{ `%k = tile.receive %kv[%n] : !tile.channel<!tile.tile<...>> -> !tile.tile<...>` }];
}

def Tile_PublishOp : Tile_ChannelEndOp<"publish"> {
  let summary = "Producer commit: signals that message `message` is full";
  let description = [{ `tile.publish %p[%j] : !tile.channel<!tile.tile<...>>` }];
  let assemblyFormat = "$channel `[` $message `]` attr-dict `:` type($channel)";
}

def Tile_ReleaseOp : Tile_ChannelEndOp<"release"> {
  let summary = "Consumer release: signals that the slot of message `message` may be written again";
  let description = [{ `tile.release %kv[%n] : !tile.channel<!tile.tile<...>>` }];
  let assemblyFormat = "$channel `[` $message `]` attr-dict `:` type($channel)";
  let hasVerifier = 1;
}

def Tile_SplitTripsOp : Tile_Op<"split_trips", [Pure]> {
  let summary = "Divides the iterations of a loop into those that a role computes and those that it skips";
  let description = [{
    A role computes the first min(max(`wanted`, 1), `all`) of `all` iterations and skips the others. It still receives and
    releases the messages of skipped iterations. A loop that runs has at least one iteration that is computed.

    ```mlir
    %computed, %skipped = tile.split_trips %wanted of %all
    ```
  }];
  let arguments = (ins Index:$wanted, Index:$all);
  let results = (outs Index:$computed, Index:$skipped);
  let assemblyFormat = "$wanted `of` $all attr-dict";
}

#endif // FMHA_DIALECT_TILE_IR_CHANNELOPS_TD
