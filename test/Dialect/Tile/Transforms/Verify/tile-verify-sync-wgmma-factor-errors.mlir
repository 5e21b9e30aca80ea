// What a broken kernel is told whose products read A from registers, a rule at a time.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-verify-sync)))'

// A in registers is read until the product is complete.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @factor {
  gpu.func @factor(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    %a = arith.constant dense<0> : vector<4xi32>
    scf.if %consumer {
      // expected-error@+1 {{Y1: reads A from registers that no wait hands on: expected the wait for this product to name them}}
      %s = tile.wgmma %a, %d of bf16 : vector<4xi32>, i64 -> vector<16xf32>
      tile.wgmma_commit
      %w = tile.wgmma_wait 0 of %s : vector<16xf32>
    }
    gpu.return
  }
}

// -----

// The wait that hands A on may let its product run.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @factor_early {
  gpu.func @factor_early(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    %a = arith.constant dense<0> : vector<4xi32>
    scf.if %consumer {
      // expected-note@+1 {{the conflicting access}}
      %s = tile.wgmma %a, %d of bf16 : vector<4xi32>, i64 -> vector<16xf32>
      tile.wgmma_commit
      // expected-error@+1 {{Y1: threads of "consumer0" writes its registers, which a wgmma of "consumer0" reads: expected wgmma_commit after the wgmma, and a wgmma_wait that leaves fewer groups in flight}}
      %b = tile.wgmma_wait 1 of %a : vector<4xi32>
      %w = tile.wgmma_wait 0 of %s : vector<16xf32>
    }
    gpu.return
  }
}

// -----

// A wait hands the registers on, but each iteration reads them as they were before the loop: from a copy.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @factor_of_loop {
  gpu.func @factor_of_loop(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    %a = arith.constant dense<0> : vector<4xi32>
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    scf.if %consumer {
      scf.for %i = %c0 to %c2 step %c1 {
        // expected-error@+1 {{Y1: reads A from registers that are the same in each iteration, and are copied while they are read: expected the loop to carry the result of the wait for this product}}
        %s = tile.wgmma %a, %d of bf16 : vector<4xi32>, i64 -> vector<16xf32>
        tile.wgmma_commit
        %w:2 = tile.wgmma_wait 0 of %s, %a : vector<16xf32>, vector<4xi32>
      }
    }
    gpu.return
  }
}

// -----

// Nor may an op read them while a product does.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @factor_touched {
  gpu.func @factor_touched(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    %a = arith.constant dense<0> : vector<4xi32>
    scf.if %consumer {
      %s = tile.wgmma %a, %d of bf16 : vector<4xi32>, i64 -> vector<16xf32>
      tile.wgmma_commit
      // expected-error@+1 {{Y1: uses registers that a product may still read: expected the result of the wait for the product}}
      tile.store_matrix %a, %p : vector<4xi32>, !llvm.ptr<3>
      %w:2 = tile.wgmma_wait 0 of %s, %a : vector<16xf32>, vector<4xi32>
    }
    gpu.return
  }
}

// -----

// What follows a branch takes what the wait in there hands on.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @factor_behind_branch {
  gpu.func @factor_behind_branch(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    %a = arith.constant dense<0> : vector<4xi32>
    scf.if %consumer {
      scf.if %consumer {
        %s = tile.wgmma %a, %d of bf16 : vector<4xi32>, i64 -> vector<16xf32>
        tile.wgmma_commit
        %w:2 = tile.wgmma_wait 0 of %s, %a : vector<16xf32>, vector<4xi32>
      }
      // expected-error@+1 {{Y1: uses registers that a product may still read: expected the result of the wait for the product}}
      tile.store_matrix %a, %p : vector<4xi32>, !llvm.ptr<3>
    }
    gpu.return
  }
}

// -----

// The next product, too.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @factor_stale {
  gpu.func @factor_stale(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    %a = arith.constant dense<0> : vector<4xi32>
    scf.if %consumer {
      %s = tile.wgmma %a, %d of bf16 : vector<4xi32>, i64 -> vector<16xf32>
      tile.wgmma_commit
      %w:2 = tile.wgmma_wait 0 of %s, %a : vector<16xf32>, vector<4xi32>
      // expected-error@+1 {{Y1: uses registers that a product may still read: expected the result of the wait for the product}}
      %u = tile.wgmma %a, %d of bf16 : vector<4xi32>, i64 -> vector<16xf32>
      tile.wgmma_commit
      %x = tile.wgmma_wait 0 of %u : vector<16xf32>
    }
    gpu.return
  }
}

// -----

// A later wait for the same registers is of other products: after the branch they are not those that its own wait hands on.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @factor_of_way {
  gpu.func @factor_of_way(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    %a = arith.constant dense<0> : vector<4xi32>
    %n = memref.dim %q, %c0 : !t
    %some = arith.cmpi ne, %n, %c0 : index
    scf.if %consumer {
      %b = scf.if %some -> (vector<4xi32>) {
        scf.yield %a : vector<4xi32>
      } else {
        %s = tile.wgmma %a, %d of bf16 : vector<4xi32>, i64 -> vector<16xf32>
        tile.wgmma_commit
        %w:2 = tile.wgmma_wait 0 of %s, %a : vector<16xf32>, vector<4xi32>
        scf.yield %w#1 : vector<4xi32>
      }
      %t = tile.wgmma %b, %d of bf16 : vector<4xi32>, i64 -> vector<16xf32>
      %u = tile.wgmma %a, %d plus %t : vector<16xf32> of bf16 : vector<4xi32>, i64 -> vector<16xf32>
      tile.wgmma_commit
      // expected-error@+1 {{Y1: uses registers that a product may still read: expected the result of the wait for the product}}
      %x:3 = tile.wgmma_wait 0 of %u, %b, %a : vector<16xf32>, vector<4xi32>, vector<4xi32>
    }
    gpu.return
  }
}

// -----

// Where a branch has the wait, each way needs one.
#schedule = #fmha.schedule<target = "sm_90a", q_tiles = 1, q_tile_rows = 64, kv_stages = 3, p_placement = registers, roles = [
  #fmha.role<"load", first_warp = 0, warps = 1, registers = 248>, #fmha.role<"store", first_warp = 1, warps = 1, registers = 248>,
  #fmha.role<"spare", first_warp = 2, warps = 2, registers = 248>, #fmha.role<"consumer0", first_warp = 4, warps = 4, registers = 248>]>
!t = memref<?x?x?x64xbf16>
gpu.module @wait_of_branch {
  gpu.func @wait_of_branch(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %thread = gpu.thread_id x
    %consumer = arith.cmpi uge, %thread, %c128 : index
    %p = tile.smem_address 0 : !llvm.ptr<3>
    %d = tile.descriptor %p plus 0 fields 4611686293305360384 : <3>
    %a = arith.constant dense<0> : vector<4xi32>
    scf.if %consumer {
      // expected-error@+1 {{Y1: reads A from registers that no wait hands on: expected the wait for this product to name them}}
      %s = tile.wgmma %a, %d of bf16 : vector<4xi32>, i64 -> vector<16xf32>
      tile.wgmma_commit
      scf.if %consumer {
        %w:2 = tile.wgmma_wait 0 of %s, %a : vector<16xf32>, vector<4xi32>
      }
    }
    gpu.return
  }
}
