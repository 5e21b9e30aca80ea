// The ops of the machine level, as text, in the generic form and as bytecode.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --verify-roundtrip -o /dev/null
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

!tensor = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>

// CHECK-LABEL: func.func @barriers
func.func @barriers(%stage: index, %parity: index) {
  // CHECK: %[[B:.*]] = tile.barrier "kv.full" at 1024 arrivals 1 : <3>
  %b = tile.barrier "kv.full" at 1024 arrivals 1 : !tile.barrier<3>
  // CHECK-NEXT: tile.init_barrier %[[B]] arrivals 1 : <3>
  tile.init_barrier %b arrivals 1 : !tile.barrier<3>
  // CHECK-NEXT: tile.wait %[[B]][%{{.*}}] parity %{{.*}} : <3>
  tile.wait %b[%stage] parity %parity : !tile.barrier<3>
  // CHECK-NEXT: tile.arrive %[[B]][%{{.*}}] : <3>
  tile.arrive %b[%stage] : !tile.barrier<3>
  // CHECK-NEXT: tile.arrive_copies %[[B]][%{{.*}}] : <3>
  tile.arrive_copies %b[%stage] : !tile.barrier<3>
  // CHECK-NEXT: tile.arrive_expect_tx %[[B]][%{{.*}}] bytes 16384 : <3>
  tile.arrive_expect_tx %b[%stage] bytes 16384 : !tile.barrier<3>
  // CHECK-NEXT: tile.commit %[[B]][%{{.*}}] : <3>
  tile.commit %b[%stage] : !tile.barrier<3>
  // CHECK-NEXT: tile.fence tcgen05_before
  tile.fence tcgen05_before
  // CHECK-NEXT: tile.fence tcgen05_after
  tile.fence tcgen05_after
  // CHECK-NEXT: tile.fence proxy_async
  tile.fence proxy_async
  // CHECK-NEXT: tile.fence mbarrier_init
  tile.fence mbarrier_init
  return
}

// CHECK-LABEL: func.func @copies_of_threads
func.func @copies_of_threads(%paged: memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, %table: memref<?xi32>,
    %dense: memref<?x?x?x72xf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, %p: !llvm.ptr<3>, %i: index) {
  // CHECK: tile.copy_rows 128 x 64 of %{{.*}} pages %{{.*}}[%{{.*}}] head %{{.*}} from %{{.*}} before %{{.*}} to %{{.*}} warps 2 from 2 : memref<?x16x?x64xbf16, {{.*}}>, <3>, memref<?xi32>
  tile.copy_rows 128 x 64 of %paged pages %table[%i] head %i from %i before %i to %p warps 2 from 2
      : memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, !llvm.ptr<3>, memref<?xi32>
  // CHECK: tile.copy_rows 48 x 80 of %{{.*}} batch %{{.*}} head %{{.*}} from %{{.*}} before %{{.*}} start %{{.*}} column %{{.*}} to %{{.*}} warps 4 from 0 : memref<?x?x?x72xf16, {{.*}}>, <3>
  tile.copy_rows 48 x 80 of %dense batch %i head %i from %i before %i start %i column %i to %p warps 4 from 0
      : memref<?x?x?x72xf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, !llvm.ptr<3>
  // CHECK: tile.copy_rows 64 x 80 of %{{.*}} list %{{.*}}[%{{.*}}] below %{{.*}} : memref<?xi32> batch %{{.*}} head %{{.*}} from %{{.*}} before %{{.*}} to %{{.*}} warps 2 from 2
  tile.copy_rows 64 x 80 of %dense list %table[%i] below %i : memref<?xi32> batch %i head %i from %i before %i to %p warps 2 from 2
      : memref<?x?x?x72xf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, !llvm.ptr<3>
  return
}

// CHECK-LABEL: func.func @rotations
func.func @rotations(%q: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, %t: memref<?x8xf32>, %p: !llvm.ptr<3>, %i: index) {
  // CHECK: tile.rotate_rows 64 x 64 of %{{.*}} batch %{{.*}} head %{{.*}} members %{{.*}} from %{{.*}} before %{{.*}} heads 16 at %{{.*}} by %{{.*}}, %{{.*}} to %{{.*}} : memref<?x?x?x64xbf16, {{.*}}>, <3>, memref<?x8xf32>, memref<?x8xf32>
  tile.rotate_rows 64 x 64 of %q batch %i head %i members %i from %i before %i heads 16 at %i by %t, %t to %p
      : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, !llvm.ptr<3>, memref<?x8xf32>, memref<?x8xf32>
  // CHECK: tile.rotate_rows {{.*}} by %{{.*}}, %{{.*}} interleaved to
  tile.rotate_rows 64 x 64 of %q batch %i head %i members %i from %i before %i heads 1 at %i by %t, %t interleaved to %p
      : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, !llvm.ptr<3>, memref<?x8xf32>, memref<?x8xf32>
  return
}

// CHECK-LABEL: func.func @conversions
func.func @conversions(%k: memref<?x16x?x64xf8E4M3FN, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, %table: memref<?xi32>, %p: !llvm.ptr<3>,
    %i: index) {
  // CHECK: tile.convert_rows 128 x 64 of %{{.*}} pages %{{.*}}[%{{.*}}] head %{{.*}} from %{{.*}} before %{{.*}} to %{{.*}} as bf16 prefetched 256 warps 4 from 4 : memref<?x16x?x64xf8E4M3FN, {{.*}}>, <3>, memref<?xi32>
  tile.convert_rows 128 x 64 of %k pages %table[%i] head %i from %i before %i to %p as bf16 prefetched 256 warps 4 from 4
      : memref<?x16x?x64xf8E4M3FN, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, !llvm.ptr<3>, memref<?xi32>
  // CHECK: tile.convert_rows 64 x 64 of %{{.*}} batch %{{.*}} head %{{.*}} from %{{.*}} before %{{.*}} column %{{.*}} to %{{.*}} as f16 prefetched 0 warps 4 from 4
  tile.convert_rows 64 x 64 of %k batch %i head %i from %i before %i column %i to %p as f16 prefetched 0 warps 4 from 4
      : memref<?x16x?x64xf8E4M3FN, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, !llvm.ptr<3>
  return
}

// CHECK-LABEL: func.func @copies
func.func @copies(%t: !tensor, %b: !tile.barrier<3>, %i: index) {
  // CHECK: tile.slot %{{.*}} : <128x64xbf16, #tile.smem<offset = 0, stages = 3>>
  %slot = tile.slot %i : !tile.tile<128x64xbf16, #tile.smem<offset = 0, stages = 3>>
  // CHECK: %[[P:.*]] = tile.smem_address 2048 : <3>
  %p = tile.smem_address 2048 : !llvm.ptr<3>
  // CHECK: tile.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] column 64 to %[[P]] signals %{{.*}}[%{{.*}}] : memref<{{.*}}>, <3>, <3>
  tile.tma_load %t[%i, %i, %i] column 64 to %p signals %b[%i] : !tensor, !llvm.ptr<3>, !tile.barrier<3>
  // CHECK: tile.tma_store %[[P]] to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] column 64 : <3>, memref
  tile.tma_store %p to %t[%i, %i, %i] column 64 : !llvm.ptr<3>, !tensor
  // CHECK: tile.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] column 64 behind %{{.*}} to %[[P]] signals
  tile.tma_load %t[%i, %i, %i] column 64 behind %i to %p signals %b[%i] : !tensor, !llvm.ptr<3>, !tile.barrier<3>
  // CHECK: tile.tma_store %[[P]] to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] column 64 behind %{{.*}} : <3>, memref
  tile.tma_store %p to %t[%i, %i, %i] column 64 behind %i : !llvm.ptr<3>, !tensor
  // CHECK: tile.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] column 64 behind %{{.*}} before %{{.*}} to %[[P]] signals
  tile.tma_load %t[%i, %i, %i] column 64 behind %i before %i to %p signals %b[%i] : !tensor, !llvm.ptr<3>, !tile.barrier<3>
  // CHECK: tile.tma_load %{{.*}} or %{{.*}} : memref<{{.*}}> if %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] column 64 to %[[P]] signals
  %either = arith.constant true
  tile.tma_load %t or %t : !tensor if %either[%i, %i, %i] column 64 to %p signals %b[%i] : !tensor, !llvm.ptr<3>, !tile.barrier<3>
  // CHECK: tile.tma_gather %{{.*}}[%[[I:.*]], %[[I]], %[[I]], %[[I]]] rows[%[[I]], %[[I]], %[[I]], %[[I]]] head %[[I]] column 64 to %[[P]] signals %{{.*}}[%[[I]]] : memref<{{.*}}>, <3>, <3>
  tile.tma_gather %t[%i, %i, %i, %i] rows [%i, %i, %i, %i] head %i column 64 to %p signals %b[%i] : !tensor, !llvm.ptr<3>, !tile.barrier<3>
  // CHECK: tile.tma_gather {{.*}} head %{{.*}} column 0 behind %{{.*}} to %[[P]] signals
  tile.tma_gather %t[%i, %i, %i, %i] rows [%i, %i, %i, %i] head %i column 0 behind %i to %p signals %b[%i] : !tensor, !llvm.ptr<3>, !tile.barrier<3>
  // CHECK: tile.tma_store %[[P]] to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] column 64 before %{{.*}} : <3>, memref
  tile.tma_store %p to %t[%i, %i, %i] column 64 before %i : !llvm.ptr<3>, !tensor
  // CHECK: tile.tma_store_wait
  tile.tma_store_wait
  return
}

// CHECK-LABEL: func.func @tensor_memory
func.func @tensor_memory(%p: !llvm.ptr<3>, %yes: i1) {
  // CHECK: tile.tmem_alloc 512 to 4096
  tile.tmem_alloc 512 to 4096
  // CHECK: %[[BASE:.*]] = tile.tmem_base at 4096
  %base = tile.tmem_base at 4096
  // CHECK: tile.tmem_address 128 from %[[BASE]] of_warp : <6>
  %t = tile.tmem_address 128 from %base of_warp : !llvm.ptr<6>
  // CHECK: tile.tmem_address 256 from %[[BASE]] : <6>
  %d = tile.tmem_address 256 from %base : !llvm.ptr<6>
  // CHECK: %[[V:.*]] = tile.tmem_load %{{.*}} : <6> -> vector<32xi32>
  %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<32xi32>
  // CHECK: %[[W:.*]] = tile.tmem_wait load of %[[V]] : vector<32xi32> to vector<32xi32>
  %w = tile.tmem_wait load of %v : vector<32xi32> to vector<32xi32>
  // CHECK: tile.tmem_store %[[W]], %{{.*}} : vector<32xi32>, <6>
  tile.tmem_store %w, %t : vector<32xi32>, !llvm.ptr<6>
  // An op with a result may follow: its name is no operand of the wait.
  // CHECK: tile.tmem_wait load of %[[V]], %[[W]] : vector<32xi32>, vector<32xi32> to vector<64xi32>
  %both = tile.tmem_wait load of %v, %w : vector<32xi32>, vector<32xi32> to vector<64xi32>
  // 16 lanes of the warp, from the 17th on; half of the threads 64 columns on.
  // CHECK: %[[H:.*]] = tile.tmem_address 0 lane 16 from %[[BASE]] of_warp : <6>
  %h = tile.tmem_address 0 lane 16 from %base of_warp : !llvm.ptr<6>
  // CHECK: tile.tmem_load %[[H]] split 64 : <6> -> vector<8xi32>
  %x = tile.tmem_load %h split 64 : !llvm.ptr<6> -> vector<8xi32>
  // CHECK: tile.tmem_store %{{.*}}, %[[H]] split 64 : vector<8xi32>, <6>
  tile.tmem_store %x, %h split 64 : vector<8xi32>, !llvm.ptr<6>
  // CHECK: tile.tmem_wait store
  tile.tmem_wait store
  // CHECK: %[[A:.*]] = tile.descriptor %{{.*}} plus 32 fields 4611756662049538048 : <3>
  %a = tile.descriptor %p plus 32 fields 4611756662049538048 : !llvm.ptr<3>
  // CHECK: tile.mma %{{.*}}, %[[A]], %[[A]] instruction 136316048 accumulate %{{.*}} : <6>, i64, i64
  tile.mma %d, %a, %a instruction 136316048 accumulate %yes : !llvm.ptr<6>, i64, i64
  // CHECK: tile.mma %{{.*}}, %{{.*}}, %[[A]] instruction 1 accumulate %{{.*}} : <6>, !llvm.ptr<6>, i64
  tile.mma %d, %t, %a instruction 1 accumulate %yes : !llvm.ptr<6>, !llvm.ptr<6>, i64
  // CHECK: tile.tmem_dealloc %[[BASE]] columns 512
  tile.tmem_dealloc %base columns 512
  return
}

// CHECK-LABEL: func.func @warps
func.func @warps() {
  // CHECK-NEXT: tile.set_registers 192 from 128
  tile.set_registers 192 from 128
  // CHECK-NEXT: %[[L:.*]] = tile.elect
  %leader = tile.elect
  // CHECK-NEXT: tile.any_in_warp %[[L]]
  %any = tile.any_in_warp %leader
  // CHECK: %[[N:.*]] = arith.constant
  %n = arith.constant 7 : index
  // CHECK-NEXT: tile.uniform %[[N]]
  %same = tile.uniform %n
  // CHECK-NEXT: tile.reread %[[N]]
  %again = tile.reread %n
  // CHECK-NEXT: tile.sync_warp
  tile.sync_warp
  // CHECK-NEXT: tile.sync_cta
  tile.sync_cta
  // CHECK-NEXT: tile.await_grids
  tile.await_grids
  // CHECK-NEXT: tile.launch_dependents
  tile.launch_dependents
  return
}

// CHECK-LABEL: func.func @global
func.func @global(%bias: memref<?x?xf32, strided<[?, 1]>, #gpu.address_space<global>>, %i: index, %keys: vector<16xindex>) {
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] : memref<{{.*}}>, index, index -> f32
  %0 = tile.gather %bias[%i, %i] : memref<?x?xf32, strided<[?, 1]>, #gpu.address_space<global>>, index, index -> f32
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] : memref<{{.*}}>, index, index -> vector<16xf32>
  %1 = tile.gather %bias[%i, %i] : memref<?x?xf32, strided<[?, 1]>, #gpu.address_space<global>>, index, index -> vector<16xf32>
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] overlapped : {{.*}} -> vector<2xf32>
  %overlapped = tile.gather %bias[%i, %i] overlapped : memref<?x?xf32, strided<[?, 1]>, #gpu.address_space<global>>, index, index -> vector<2xf32>
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] : memref<{{.*}}>, index, vector<16xindex> -> vector<16xf32>
  %2 = tile.gather %bias[%i, %keys] : memref<?x?xf32, strided<[?, 1]>, #gpu.address_space<global>>, index, vector<16xindex> -> vector<16xf32>
  return
}
