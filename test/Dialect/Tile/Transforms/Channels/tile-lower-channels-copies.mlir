// Copies of 128 columns are two boxes of 64, one per swizzle panel: 64 x 2 = 128
// bytes is the span of the swizzle. A panel has 128 rows x 128 bytes = 16384.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-lower-channels,cse)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 2, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>>
!q = !tile.tile<128x128xf16, #tile.smem<offset = 0>>
gpu.module @kernels {
  // CHECK: gpu.func @copies(%[[Q:[^:]*]]: memref<{{[^%]*}}%{{[^%]*}}%{{[^%]*}}%[[O:[^:]*]]: memref<
  gpu.func @copies(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %b = gpu.block_id x
    %r = gpu.block_id y
    %h = gpu.block_id z
    // CHECK: %[[B:.*]] = gpu.block_id x
    // CHECK: %[[R:.*]] = gpu.block_id y
    // CHECK: %[[H:.*]] = gpu.block_id z
    %ch = tile.channel "q" from tma to mma arrivals 1, 1 unreleased : !tile.channel<!q>
    %out = tile.channel "o" from threads to tma arrivals 128, 1 unreleased : !tile.channel<!q>
    %queries = tile.view %q batch %b head %h rows %r : !t -> !tile.view<?x128xf16>
    %queries2 = tile.view %q batch %b head %h rows %h from %b : !t -> !tile.view<?x128xf16>
    %output = tile.view %o batch %b head %h rows %r : !t -> !tile.view<?x128xf16>
    %output2 = tile.view %o batch %b head %h rows %r from %b : !t -> !tile.view<?x128xf16>
    tile.warp_specialize {
      tile.role "load" warps 12 to 13 registers 136 single_thread {
        // Both boxes together: 128 x 128 x 2 bytes, one arrival.
        // CHECK: tile.arrive_expect_tx %[[FULL:.*]][%{{.*}}] bytes 32768
        // CHECK-NOT: tile.arrive_expect_tx
        // CHECK: %[[P0:.*]] = tile.smem_address 0
        // CHECK: tile.tma_load %[[Q]][%[[B]], %[[R]], %[[H]]] column 0 to %[[P0]] signals %[[FULL]]
        // CHECK: %[[P1:.*]] = tile.smem_address 16384
        // CHECK: tile.tma_load %[[Q]][%[[B]], %[[R]], %[[H]]] column 64 to %[[P1]] signals %[[FULL]]
        // CHECK-NOT: tile.tma_load
        %slot = tile.acquire %ch[%b] : !tile.channel<!q> -> !q
        %0 = tile.load %queries[%r] into %slot as !q : !tile.view<?x128xf16> -> !q
      }
      // Of a sequence, rows count from as many before its end as the tensor has: length -
      // within + row, and the end is start + within. A box behind the sequence begins at
      // the last row of the map, or GPUs read at the map's address.
      // CHECK: tile.role "mma"
      // CHECK: %[[LENGTH:.*]] = memref.dim %[[Q]], %c1
      // CHECK: %[[BEFORE:.*]] = arith.subi %[[LENGTH]], %[[H]]
      // CHECK: %[[WITHIN:.*]] = arith.addi %[[BEFORE]], %[[R]]
      // CHECK: %[[BEHIND:.*]] = arith.addi %[[B]], %[[H]]
      // CHECK: %[[LAST:.*]] = arith.subi %[[LENGTH]], %c1
      // CHECK: %[[ROW:.*]] = arith.minsi %[[WITHIN]], %[[LAST]]
      // CHECK: %[[END:.*]] = arith.maxsi %[[BEHIND]], %c1
      // CHECK: tile.tma_load %[[Q]][%[[B]], %[[ROW]], %[[H]]] column 0 before %[[END]] to
      // CHECK: tile.tma_load %[[Q]][%[[B]], %[[ROW]], %[[H]]] column 64 before %[[END]] to
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        %slot = tile.acquire %ch[%r] : !tile.channel<!q> -> !q
        %0 = tile.load %queries2[%r] into %slot as !q : !tile.view<?x128xf16> -> !q
      }
      // CHECK: tile.role "store"
      tile.role "store" warps 14 to 15 registers 136 single_thread {
        %0 = tile.receive %out[%b] : !tile.channel<!q> -> !q
        // CHECK: tile.tma_store %{{.*}} to %[[O]][%[[B]], %[[R]], %[[H]]] column 0
        // CHECK: tile.tma_store %{{.*}} to %[[O]][%[[B]], %[[R]], %[[H]]] column 64
        // Shared memory must outlive the copies: one wait for both.
        // CHECK-NEXT: tile.tma_store_wait
        tile.store %0, %output[%r] : !q, !tile.view<?x128xf16>
        // CHECK: %[[END:.*]] = arith.addi %[[B]], %[[R]]
        // CHECK: tile.tma_store %{{.*}} to %[[O]][%[[B]], %{{.*}}, %[[H]]] column 0 before %[[END]]
        tile.store %0, %output2[%r] : !q, !tile.view<?x128xf16>
      }
    }
    gpu.return
  }

  // Of 176 columns in parts of 128 the second part has a panel at column 192, wholly outside of the map: it is the last
  // one of the tensor again. A tensor without sequences has nothing in front of it that could be nobody's.
  // CHECK: gpu.func @parts
  gpu.func @parts(%q: !t, %k: !t, %v: memref<?x?x?x176xf16, strided<[?, ?, ?, 1]>>, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %b = gpu.block_id x
    %r = gpu.block_id y
    // CHECK: %[[C:.*]] = gpu.block_id z
    %c = gpu.block_id z
    %ch = tile.channel "q" from tma to mma arrivals 1, 1 unreleased : !tile.channel<!q>
    %values = tile.view %v batch %b head %b rows %r from %b column %c : memref<?x?x?x176xf16, strided<[?, ?, ?, 1]>> -> !tile.view<?x176xf16>
    %values2 = tile.view %v batch %b head %b rows %r column %c : memref<?x?x?x176xf16, strided<[?, ?, ?, 1]>> -> !tile.view<?x176xf16>
    tile.warp_specialize {
      tile.role "load" warps 12 to 13 registers 136 single_thread {
        // CHECK: tile.tma_load {{.*}} column 0 behind %[[C]] before
        // CHECK: %[[NEXT:.*]] = arith.addi %[[C]], %c64
        // CHECK: %[[COLUMN:.*]] = arith.minsi %[[NEXT]], %c128
        // CHECK: tile.tma_load {{.*}} column 0 behind %[[COLUMN]] before
        %slot = tile.acquire %ch[%b] : !tile.channel<!q> -> !q
        %0 = tile.load %values[%r] into %slot as !q : !tile.view<?x176xf16> -> !q
      }
      tile.role "mma" warps 13 to 14 registers 136 single_thread {
        // CHECK: tile.tma_load {{.*}} column 0 behind %[[C]] to
        // CHECK: tile.tma_load {{.*}} column 64 behind %[[C]] to
        %slot = tile.acquire %ch[%r] : !tile.channel<!q> -> !q
        %0 = tile.load %values2[%r] into %slot as !q : !tile.view<?x176xf16> -> !q
      }
    }
    gpu.return
  }
}
