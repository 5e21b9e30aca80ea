// Programs that a pair of CTAs cannot share.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-pair-ctas)))'

gpu.module @m {
  gpu.func @no_branch(%d: !llvm.ptr<6>, %b: i64) kernel {
    %true = arith.constant true
    // expected-error@+1 {{expected the products of a pair of CTAs in one branch of one elected thread, got none}}
    tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @two_branches(%d: !llvm.ptr<6>, %b: i64) kernel {
    %true = arith.constant true
    %one = tile.elect
    scf.if %one {
      tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
    }
    %two = tile.elect
    scf.if %two {
      // expected-error@+1 {{in one branch of one elected thread, got a second branch}}
      tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @mixed(%d: !llvm.ptr<6>, %b: i64) kernel {
    %true = arith.constant true
    %one = tile.elect
    scf.if %one {
      tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
      // expected-error@+1 {{expected `pair` on all products of a kernel or on none, got a product without `pair`}}
      tile.mma %d, %d, %b instruction 136316048 accumulate %true : !llvm.ptr<6>, !llvm.ptr<6>, i64
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @shared_wait(%d: !llvm.ptr<6>, %b: i64) kernel {
    %true = arith.constant true
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{expected only other roles to signal a barrier that the MMA role of a pair of CTAs waits for, and none of them to wait for it, got a wait in another role}}
    %p = tile.barrier "p.full" at 1064 arrivals 128 : !tile.barrier<1>
    tile.arrive %p[%c0] : !tile.barrier<1>
    tile.wait %p[%c0] parity %c0 : !tile.barrier<1>
    %one = tile.elect
    scf.if %one {
      tile.wait %p[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @copies_of_threads(%d: !llvm.ptr<6>, %b: i64) kernel {
    %true = arith.constant true
    %c0 = arith.constant 0 : index
    %p = tile.barrier "kv.full" at 1064 arrivals 64 : !tile.barrier<1>
    // expected-error@+1 {{expected the barriers of a pair of CTAs to be signaled by tile.commit, or in other roles by tile.arrive, tile.arrive_expect_tx or tile.tma_load, got tile.arrive_copies}}
    tile.arrive_copies %p[%c0] : !tile.barrier<1>
    %one = tile.elect
    scf.if %one {
      tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
    }
    gpu.return
  }
}

// -----

// What the pass has shared is not shared again: its barriers would count four CTAs.
gpu.module @m {
  gpu.func @twice(%d: !llvm.ptr<6>, %b: i64) kernel {
    %true = arith.constant true
    // expected-error@+1 {{expected `pair` on products alone, got it here; tile-tcgen05-pair-ctas has been run on this kernel already}}
    tile.tmem_alloc 512 to 2048 pair
    %one = tile.elect
    scf.if %one {
      tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @shared_election(%d: !llvm.ptr<6>, %b: i64) kernel {
    %true = arith.constant true
    %one = tile.elect
    // expected-error@+1 {{expected the branch of the products of a pair of CTAs to have no results and no else region, and an election of its own}}
    scf.if %one {
      tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
    }
    scf.if %one {
      tile.tmem_alloc 512 to 2048
    }
    gpu.return
  }
}

// -----

// The threads of a CTA come together in a branch: the other CTA may signal %p before it is initialized.
gpu.module @m {
  gpu.func @no_sync(%d: !llvm.ptr<6>, %b: i64, %some: i1) kernel {
    %true = arith.constant true
    %c0 = arith.constant 0 : index
    %p = tile.barrier "p.full" at 1064 arrivals 128 : !tile.barrier<1>
    scf.if %some {
      tile.sync_cta
    }
    // expected-error@+1 {{signals or waits for the other CTA of a pair: expected a tile.sync_cta before and after it in the entry block of the kernel, got none before it}}
    tile.arrive %p[%c0] : !tile.barrier<1>
    %one = tile.elect
    scf.if %one {
      tile.wait %p[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
    }
    tile.sync_cta
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_last_sync(%d: !llvm.ptr<6>, %b: i64) kernel {
    %true = arith.constant true
    %c0 = arith.constant 0 : index
    %p = tile.barrier "p.full" at 1064 arrivals 128 : !tile.barrier<1>
    tile.sync_cta
    // expected-error@+1 {{got none after it}}
    tile.arrive %p[%c0] : !tile.barrier<1>
    %one = tile.elect
    scf.if %one {
      tile.wait %p[%c0] parity %c0 : !tile.barrier<1>
      tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
    }
    gpu.return
  }
}

// -----

// Only the even CTA would run the else region.
gpu.module @m {
  gpu.func @else_region(%d: !llvm.ptr<6>, %b: i64, %m: memref<4xi32>) kernel {
    %true = arith.constant true
    %c0 = arith.constant 0 : index
    %one = tile.elect
    %zero = arith.constant 0 : i32
    // expected-error@+1 {{expected the branch of the products of a pair of CTAs to have no results and no else region, and an election of its own}}
    scf.if %one {
      tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
    } else {
      memref.store %zero, %m[%c0] : memref<4xi32>
    }
    gpu.return
  }
}

// -----

// The odd CTA would not store; what it loads for its products is no part of its memory.
gpu.module @m {
  gpu.func @store_in_role(%d: !llvm.ptr<6>, %b: i64, %m: memref<4xi32>) kernel {
    %true = arith.constant true
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c1 = arith.constant 1 : index
    %one = tile.elect
    scf.if %one {
      %loaded = memref.load %m[%c0] : memref<4xi32>
      scf.for %i = %c0 to %c4 step %c1 {
        tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
        // expected-error@+1 {{is in the branch of the products of a pair of CTAs, which only the even CTA runs: expected tile.mma, tile.commit, tile.wait, tile.fence and ops without effects}}
        memref.store %loaded, %m[%i] : memref<4xi32>
      }
    }
    gpu.return
  }
}

// -----

// The other threads of the warp run the else region: no one thread issues this product.
gpu.module @m {
  gpu.func @in_else_region(%d: !llvm.ptr<6>, %b: i64, %m: memref<4xi32>) kernel {
    %true = arith.constant true
    %one = tile.elect
    scf.if %one {
      tile.tmem_alloc 512 to 2048
    } else {
      // expected-error@+1 {{expected the products of a pair of CTAs in one branch of one elected thread, got none}}
      tile.mma %d, %d, %b instruction 270599312 accumulate %true pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
    }
    gpu.return
  }
}
