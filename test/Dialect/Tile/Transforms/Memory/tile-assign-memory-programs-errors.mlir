// Programs whose memory cannot be laid out, or that say two things.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-assign-memory)))'

// Two tiles of 128 x 512 x 2 = 131072 bytes, 4 barriers of 8 bytes for each, and 16 bytes kept for the address of tensor
// memory: 262144 + 64 + 16.
!t = memref<?x?x?x512xbf16>
gpu.module @shared {
  // expected-error@+1 {{needs 262224 bytes of shared memory, but sm_100a has 232448; expected smaller tiles, or fewer of them}}
  gpu.func @shared(%a: !t, %b: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t
    %as = tile.view %a batch %c0 head %c0 rows %n : !t -> !tile.view<?x512xbf16>
    %bs = tile.view %b batch %c0 head %c0 rows %n : !t -> !tile.view<?x512xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x512xbf16> -> <128x512xbf16>
    %y = tile.load %bs[%c0] : !tile.view<?x512xbf16> -> <128x512xbf16>
    gpu.return
  }
}

// -----

// A ring has one stage at least. Two of 64 x 512 x 2 = 65536 bytes beside a tile of 131072, 4 barriers of 8 bytes for each
// of the three, and 16 bytes: 262144 + 96 + 16.
!t = memref<?x?x?x512xbf16>
gpu.module @ring {
  // expected-error@+1 {{needs 262256 bytes of shared memory, but sm_90a has 232448; expected smaller tiles, or fewer of them}}
  gpu.func @ring(%a: !t, %b: !t, %c: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t
    %as = tile.view %a batch %c0 head %c0 rows %n : !t -> !tile.view<?x512xbf16>
    %bs = tile.view %b batch %c0 head %c0 rows %n : !t -> !tile.view<?x512xbf16>
    %cs = tile.view %c batch %c0 head %c0 rows %n : !t -> !tile.view<?x512xbf16>
    %z = tile.load %cs[%c0] : !tile.view<?x512xbf16> -> <128x512xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %x = tile.load %as[%i] : !tile.view<?x512xbf16> -> <64x512xbf16>
      %y = tile.load %bs[%i] : !tile.view<?x512xbf16> -> <64x512xbf16>
    }
    gpu.return
  }
}

// -----

// Three products of 256 columns.
!t = memref<?x?x?x64xbf16>
gpu.module @tensor {
  // expected-error@+1 {{needs 768 columns of tensor memory, but sm_100a has 512; expected fewer columns of products}}
  gpu.func @tensor(%a: !t, %b: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t
    %as = tile.view %a batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %bs = tile.view %b batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <128x64xbf16>
    %y = tile.load %bs[%c0] : !tile.view<?x64xbf16> -> <256x64xbf16>
    %0 = tile.dot %x, %y transpose_b : <128x64xbf16>, <256x64xbf16> -> <128x256xf32>
    %1 = tile.dot %x, %y transpose_b : <128x64xbf16>, <256x64xbf16> -> <128x256xf32>
    %2 = tile.dot %x, %y transpose_b : <128x64xbf16>, <256x64xbf16> -> <128x256xf32>
    gpu.return
  }
}

// -----

// The first tile has a region of its own, the others pass a ring.
!t = memref<?x?x?x64xbf16>
gpu.module @carried {
  gpu.func @carried(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t
    %as = tile.view %a batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %first = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <128x64xbf16>
    // expected-error@+1 {{expected a tile in one place on all ways, got '!tile.tile<128x64xbf16, #tile.smem<offset = 0>>' and '!tile.tile<128x64xbf16, #tile.smem<offset = 16384, stages = 4>>'; let products with one tile.region make both, or store each where it is made}}
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %first) -> (!tile.tile<128x64xbf16>) {
      %next = tile.load %as[%i] : !tile.view<?x64xbf16> -> <128x64xbf16>
      scf.yield %next : !tile.tile<128x64xbf16>
    }
    gpu.return
  }
}

// -----

!t = memref<?x?x?x64xbf16>
gpu.module @branch {
  gpu.func @branch(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t
    %some = arith.cmpi ne, %n, %c0 : index
    %as = tile.view %a batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected a tile in one place on all ways, got '!tile.tile<64x64xbf16, #tile.smem<offset = 0>>' and '!tile.tile<64x64xbf16, #tile.fragment>'; let products with one tile.region make both, or store each where it is made}}
    %r = scf.if %some -> (!tile.tile<64x64xbf16>) {
      %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
      scf.yield %x : !tile.tile<64x64xbf16>
    } else {
      %zero = tile.fill 0.0 : !tile.tile<64x64xbf16>
      scf.yield %zero : !tile.tile<64x64xbf16>
    }
    gpu.return
  }
}

// -----

// Where a memory map is given it is the whole of it.
!t = memref<?x?x?x64xbf16>
gpu.module @unknown {
  gpu.func @unknown(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a", memory = [#tile.extent<name = "x", place = #tile.smem<offset = 0>, size = 16384>,
      #tile.extent<name = "barriers", place = #tile.smem<offset = 16384>, size = 64>]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t
    %as = tile.view %a batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] {tile.region = #tile.region<name = "x">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    // expected-error@+1 {{expected a tile.region of the kernel's memory map (x, barriers), got y}}
    %y = tile.load %as[%c0] {tile.region = #tile.region<name = "y">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    gpu.return
  }
}

// -----

// Products of wgmma have 64 rows.
!t = memref<?x?x?x64xbf16>
gpu.module @rows {
  gpu.func @rows(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t
    %as = tile.view %a batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <128x64xbf16>
    // expected-error@+1 {{expected tiles of 64 rows and a multiple of 8 columns, as the target's products have them, got '!tile.tile<128x128xf32>'}}
    %s = tile.dot %x, %x transpose_b : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    gpu.return
  }
}

// -----

// A tensor map copies boxes of one size.
!t = memref<?x?x?x64xbf16>
gpu.module @heights {
  gpu.func @heights(%a: !t, %b: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : !t
    %bs = tile.view %b batch %c0 head %c0 rows %n : !t -> !tile.view<?x64xbf16>
    %x = tile.load %bs[%c0] : !tile.view<?x64xbf16> -> <128x64xbf16>
    // expected-error@+1 {{expected tiles of 128 rows, as another op on operand 1 has, got 64; pass the tensor as two operands}}
    %y = tile.load %bs[%c1] : !tile.view<?x64xbf16> -> <64x64xbf16>
    gpu.return
  }
}

// -----

gpu.module @no_tiles {
  // expected-error@+1 {{tile-assign-memory expects a tiled kernel, as convert-fmha-to-tile makes it, got one without ops on tiles}}
  gpu.func @no_tiles() kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} { gpu.return }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @both {
  // expected-error@+1 {{expected tile.kernel, or fmha.schedule and fmha.problem of an attention op, got both}}
  gpu.func @both(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">, fmha.schedule = #schedule} {
    %0 = tile.fill 0.0 : !tile.tile<128xf32>
    gpu.return
  }
}

// -----

gpu.module @problem {
  // expected-error@+1 {{expected tile.kernel, or fmha.schedule and fmha.problem of an attention op, got both}}
  gpu.func @problem() kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">, fmha.problem = #fmha.problem<out_f32>} {
    %0 = tile.fill 0.0 : !tile.tile<128xf32>
    gpu.return
  }
}

// -----

gpu.module @roles {
  // expected-error@+1 {{expected #fmha.role among the roles of tile.kernel, got "load"}}
  gpu.func @roles() kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a", roles = ["load"]>} {
    %0 = tile.fill 0.0 : !tile.tile<128xf32>
    gpu.return
  }
}

// -----

// A region written by hand is aligned as its tiles are.
!t = memref<?x?x?x64xbf16>
gpu.module @aligned {
  gpu.func @aligned(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a",
      memory = [#tile.extent<name = "A", place = #tile.smem<offset = 512>, size = 8192>,
      #tile.extent<name = "barriers", place = #tile.smem<offset = 16384>, size = 64>]>} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{#tile.smem offset of a rank-2 tile must be a multiple of 1024, got 512}}
    %x = tile.load %as[%c0] {tile.region = #tile.region<name = "A">} : !tile.view<?x64xbf16> -> <64x64xbf16>
    gpu.return
  }
}

// -----

// And as large: 64 x 64 x 2 = 8192 bytes.
!t = memref<?x?x?x64xbf16>
gpu.module @small {
  gpu.func @small(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a",
      memory = [#tile.extent<name = "A", place = #tile.smem<offset = 0, stages = 2>, size = 8191>,
      #tile.extent<name = "barriers", place = #tile.smem<offset = 16384>, size = 64>]>} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected a region of at least 8192 bytes, got "A" of 8191}}
    %x = tile.load %as[%c0] {tile.region = #tile.region<name = "A">} : !tile.view<?x64xbf16> -> <64x64xbf16>
    gpu.return
  }
}

// -----

// Loads go to shared memory.
!t = memref<?x?x?x64xbf16>
gpu.module @kind {
  gpu.func @kind(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a",
      memory = [#tile.extent<name = "A", place = #tile.tmem<column = 0>, size = 64>, #tile.extent<name = "B", place = #tile.smem<offset = 0>, size = 16384>,
      #tile.extent<name = "barriers", place = #tile.smem<offset = 16384>, size = 64>, #tile.extent<name = "tmem_address", place = #tile.smem<offset = 16448>, size = 4>]>} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected a tile.region of the kernel's memory map (B, barriers, tmem_address), got A}}
    %x = tile.load %as[%c0] {tile.region = #tile.region<name = "A">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    gpu.return
  }
}

// -----

gpu.module @twice {
  // expected-error@+1 {{expected one region of each name in the memory map of tile.kernel, got two of "A"}}
  gpu.func @twice() kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a",
      memory = [#tile.extent<name = "A", place = #tile.smem<offset = 0>, size = 64>, #tile.extent<name = "A", place = #tile.smem<offset = 64>, size = 64>]>} {
    %0 = tile.fill 0.0 : !tile.tile<64xf32>
    gpu.return
  }
}

// -----

!t = memref<?x?x?x64xbf16>
gpu.module @own_name {
  gpu.func @own_name(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected the name of a region of tiles, got "barriers", which every kernel has}}
    %x = tile.load %as[%c0] {tile.region = #tile.region<name = "barriers">} : !tile.view<?x64xbf16> -> <64x64xbf16>
    gpu.return
  }
}

// -----

!t = memref<?x?x?x64xbf16>
gpu.module @both_memories {
  gpu.func @both_memories(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] {tile.region = #tile.region<name = "A">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    // expected-error@+1 {{works in tensor memory: expected the name of another region, got "A", which an op uses in the other memory}}
    %s = tile.dot %x, %x transpose_b {tile.region = #tile.region<name = "A">} : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    gpu.return
  }
}

// -----

// Products add up where products begin.
!t = memref<?x?x?x64xbf16>
gpu.module @accumulator {
  gpu.func @accumulator(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <128x64xbf16>
    %s = tile.dot %x, %x transpose_b : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    %t = tile.scale %s by 2.0 : !tile.tile<128x128xf32>
    // expected-error@+1 {{expected an accumulator that a tile.fill or another product begins, got '!tile.tile<128x128xf32, #tile.registers>'}}
    %u = tile.dot %x, %x transpose_b plus %t as !tile.tile<128x128xf32> : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    gpu.return
  }
}

// -----

// The second factor comes from memory.
!t = memref<?x?x?x64xbf16>
gpu.module @second_factor {
  gpu.func @second_factor(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
    %s = tile.dot %x, %x transpose_b : <64x64xbf16>, <64x64xbf16> -> <64x64xf32>
    %p = tile.cast %s : <64x64xf32> to <64x64xbf16>
    // expected-error@+1 {{expected a second factor that tile.load brings to shared memory, got '!tile.tile<64x64xbf16, #tile.fragment>'; a tile that threads compute may be the first one}}
    %u = tile.dot %x, %p : <64x64xbf16>, <64x64xbf16> -> <64x64xf32>
    gpu.return
  }
}

// -----

gpu.module @while {
  gpu.func @while(%c: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %f = arith.constant false
    scf.while : () -> () {
      // expected-error@+1 {{expected only scf.for and scf.if around ops on tiles, got scf.while}}
      %0 = tile.fill 0.0 : !tile.tile<64xf32>
      scf.condition(%f)
    } do {
      scf.yield
    }
    gpu.return
  }
}

// -----

// A tensor map copies boxes of 256 rows at most.
!t = memref<?x?x?x64xbf16>
gpu.module @box {
  gpu.func @box(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected at most 256 rows, which a tensor map copies at once, got 320}}
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <320x64xbf16>
    gpu.return
  }
}

// -----

// Roles do not wait for each other's copies.
!t = memref<?x?x?x64xbf16>
gpu.module @loaded_and_stored {
  gpu.func @loaded_and_stored(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
    // expected-error@+1 {{expected operand 0 to be loaded or stored, got both: roles do not wait for each other's copies}}
    tile.store %x, %as[%c1] : <64x64xbf16>, !tile.view<?x64xbf16>
    gpu.return
  }
}

// -----

// The host makes tensor maps of operands.
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!u = memref<1x?x1x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @no_operand {
  gpu.func @no_operand(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %u = memref.cast %a : !t to !u
    %as = tile.view %u batch %c0 head %c0 rows %c0 : !u -> !tile.view<?x64xbf16>
    // expected-error@+1 {{expected a view of an operand of the kernel, which a tensor map describes}}
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
    gpu.return
  }
}

// -----

!t = memref<?x?x?x64xf32>
gpu.module @f32_store {
  gpu.func @f32_store(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xf32>
    %x = tile.fill 1.0 : !tile.tile<64x64xf32>
    // expected-error@+1 {{expected a tile of f16 or bf16, which TMA copies; tile.write stores f32}}
    tile.store %x, %as[%c0] : <64x64xf32>, !tile.view<?x64xf32>
    gpu.return
  }
}

// -----

// Columns 32 to 63 of a panel begin between its swizzled rows.
!t = memref<?x?x?x64xbf16>
!u = memref<?x?x?x32xbf16>
gpu.module @panel {
  gpu.func @panel(%a: !t, %b: !u) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    %bs = tile.view %b batch %c0 head %c0 rows %c0 : !u -> !tile.view<?x32xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
    %y = tile.slice %x from 32 : <64x64xbf16> -> <64x32xbf16>
    // expected-error@+1 {{expected a slice that begins at a panel of 64 columns, which TMA copies}}
    tile.store %y, %bs[%c0] : <64x32xbf16>, !tile.view<?x32xbf16>
    gpu.return
  }
}

// -----

// No op fills tensor memory.
!t = memref<?x?x?x64xbf16>
gpu.module @ones {
  gpu.func @ones(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a">} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <128x64xbf16>
    // expected-error@+1 {{expected an accumulator that begins with 0, since no op fills tensor memory}}
    %one = tile.fill 1.0 : !tile.tile<128x128xf32>
    %s = tile.dot %x, %x transpose_b plus %one as !tile.tile<128x128xf32> : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    gpu.return
  }
}

// -----

// A map written by hand has the regions of the kernel itself.
gpu.module @no_barriers {
  // expected-error@+1 {{expected a region "barriers" in the memory map of tile.kernel}}
  gpu.func @no_barriers() kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a",
      memory = [#tile.extent<name = "A", place = #tile.smem<offset = 0>, size = 8192>]>} {
    %0 = tile.fill 0.0 : !tile.tile<64xf32>
    gpu.return
  }
}

// -----

gpu.module @no_address {
  // expected-error@+1 {{expected a region "tmem_address" in the memory map of tile.kernel}}
  gpu.func @no_address() kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a",
      memory = [#tile.extent<name = "S", place = #tile.tmem<column = 0>, size = 64>, #tile.extent<name = "barriers", place = #tile.smem<offset = 0>, size = 64>]>} {
    %0 = tile.fill 0.0 : !tile.tile<128xf32>
    gpu.return
  }
}

// -----

// Tiles may share bytes, barriers may not: the second stage of A is bytes 8192 to 16383.
gpu.module @over_barriers {
  // expected-error@+1 {{expected region "barriers" to share no bytes with another one, got "A" over it}}
  gpu.func @over_barriers() kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a",
      memory = [#tile.extent<name = "A", place = #tile.smem<offset = 0, stages = 2>, size = 8192>,
      #tile.extent<name = "barriers", place = #tile.smem<offset = 16376>, size = 64>]>} {
    %0 = tile.fill 0.0 : !tile.tile<64xf32>
    gpu.return
  }
}

// -----

// A product has as many columns as its region.
!t = memref<?x?x?x64xbf16>
gpu.module @columns {
  gpu.func @columns(%a: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_100a",
      memory = [#tile.extent<name = "A", place = #tile.smem<offset = 0>, size = 16384>, #tile.extent<name = "S", place = #tile.tmem<column = 0>, size = 64>,
      #tile.extent<name = "barriers", place = #tile.smem<offset = 16384>, size = 64>, #tile.extent<name = "tmem_address", place = #tile.smem<offset = 16448>, size = 4>]>} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] {tile.region = #tile.region<name = "A">} : !tile.view<?x64xbf16> -> <128x64xbf16>
    // expected-error@+1 {{expected a region of at least 128 columns, got "S" of 64}}
    %s = tile.dot %x, %x transpose_b {tile.region = #tile.region<name = "S">} : <128x64xbf16>, <128x64xbf16> -> <128x128xf32>
    gpu.return
  }
}

// -----

// TMA stores panels of 64 columns: the 16 columns behind the tile's would be overwritten.
!t = memref<?x?x?x64xbf16>
gpu.module @narrow {
  gpu.func @narrow(%a: !t, %o: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    %os = tile.view %o batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
    %s = tile.dot %x, %x transpose_b : <64x64xbf16>, <64x64xbf16> -> <64x64xf32>
    %h = tile.cast %s : <64x64xf32> to <64x64xbf16>
    %n = tile.slice %h from 0 : <64x64xbf16> -> <64x48xbf16>
    // expected-error@+1 {{expected panels of 64 columns, which TMA copies whole, or the last columns of the view, got '!tile.tile<64x48xbf16, #tile.fragment>'; store more columns at once, or blocks of them to tensors of their own}}
    tile.store %n, %os[%c0] : <64x48xbf16>, !tile.view<?x64xbf16>
    gpu.return
  }
}

// -----

// Nothing moves parts of shared memory together.
!t = memref<?x?x?x64xbf16>
gpu.module @joined {
  gpu.func @joined(%a: !t, %o: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %as = tile.view %a batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    %os = tile.view %o batch %c0 head %c0 rows %c0 : !t -> !tile.view<?x64xbf16>
    %x = tile.load %as[%c0] : !tile.view<?x64xbf16> -> <64x64xbf16>
    %l = tile.slice %x from 0 : <64x64xbf16> -> <64x32xbf16>
    %r = tile.slice %x from 32 : <64x64xbf16> -> <64x32xbf16>
    // expected-error@+1 {{expected tiles that threads compute, got '!tile.tile<64x32xbf16, #tile.smem<offset = 64>>'; load all columns at once}}
    %y = tile.join %r, %l : !tile.tile<64x32xbf16>, !tile.tile<64x32xbf16> -> !tile.tile<64x64xbf16>
    tile.store %y, %os[%c0] : <64x64xbf16>, !tile.view<?x64xbf16>
    gpu.return
  }
}

// -----

!k = memref<?x16x?x128xf8E4M3FN, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
!c = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
!g = memref<?xi32, #gpu.address_space<global>>
!f = memref<?xf32, #gpu.address_space<global>>
gpu.module @programs {
  gpu.func @p(%a: !k, %c: !c, %o: !c, %l: !g, %ks: !f, %vs: !f, %n: i32) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %c, %c1 : !c
    %id = gpu.block_id x
    %row = arith.muli %id, %c64 : index
    %va = tile.view %a pages %l[%c0] head %c0 rows %m : !k, !g -> <?x128xf8E4M3FN>
    %vc = tile.view %c batch %c0 head %c0 rows %m : !c -> <?x128xbf16>
    %vo = tile.view %o batch %c0 head %c0 rows %m : !c -> <?x128xbf16>
    // expected-error@+1 {{expected a view of f16 or bf16 in a program, got elements of f8E4M3FN; convert them beforehand}}
    %t = tile.load %va[%row] : !tile.view<?x128xf8E4M3FN> -> !tile.tile<64x128xbf16>
    %q = tile.load %vc[%row] : !tile.view<?x128xbf16> -> !tile.tile<64x128xbf16>
    %s = tile.dot %q, %t transpose_b : !tile.tile<64x128xbf16>, !tile.tile<64x128xbf16> -> !tile.tile<64x64xf32>
    %p = tile.cast %s : <64x64xf32> to <64x64xbf16>
    tile.store %p, %vo[%row] : <64x64xbf16>, <?x128xbf16>
    gpu.return
  }
}

// -----

!k = memref<?x16x?x128xbf16, strided<[?, ?, ?, 1]>>
!c = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
!d = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
gpu.module @programs {
  gpu.func @p(%a: !c, %c: !c, %n: !d) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %c, %c1 : !c
    %id = gpu.block_id x
    %row = arith.muli %id, %c64 : index
    // expected-error@+1 {{expected ops that programs may have, got one that reads operands of a kernel of fmha.attention; use fmha.attention with this feature}}
    tile.append_rows %n, %n[%c0] to %a, %a head %c0 from %c0 to %m before %m : !d, !d, !c, !c
    %va = tile.view %a batch %c0 head %c0 rows %m : !c -> <?x128xbf16>
    %vc = tile.view %c batch %c0 head %c0 rows %m : !c -> <?x128xbf16>
    %t = tile.load %va[%row] : !tile.view<?x128xbf16> -> !tile.tile<64x128xbf16>
    tile.store %t, %vc[%row] : <64x128xbf16>, <?x128xbf16>
    gpu.return
  }
}

// -----

!a = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>
!c = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
!t = memref<?x64xf32, strided<[?, 1]>, #gpu.address_space<global>>
gpu.module @programs {
  gpu.func @rot(%a: !a, %c: !c, %cos: !t, %sin: !t) kernel attributes {tile.kernel = #tile.kernel<target = "sm_90a">} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %m = memref.dim %a, %c1 : !a
    %id = gpu.block_id x
    %row = arith.muli %id, %c64 : index
    %va = tile.view %a batch %c0 head %c0 rows %m : !a -> <?x128xbf16>
    %vc = tile.view %c batch %c0 head %c0 rows %m : !c -> <?x128xbf16>
    // expected-error@+1 {{expected ops that programs may have, got one that reads operands of a kernel of fmha.attention}}
    %t = tile.load_rotated %va[%row] at %c0 by %cos, %sin : !tile.view<?x128xbf16>, !t, !t -> !tile.tile<64x128xbf16>
    tile.store %t, %vc[%row] : <64x128xbf16>, <?x128xbf16>
    gpu.return
  }
}
