// Forms for pairs of CTAs become NVVM ops with cta_group::2 and cluster scope, and the kernel has clusters of two.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tile-to-nvvm))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, cta_group = 2, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @pair
  // CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
  gpu.func @pair(%q: !t, %k: !t, %v: !t, %o: !t) kernel
      attributes {fmha.schedule = #schedule, known_block_size = array<i32: 512, 1, 1>} {
    %i = gpu.block_id x
    %b = tile.barrier "b" at 65536 arrivals 2 : !tile.barrier<2>
    // CHECK: nvvm.tcgen05.alloc {{.*}} {group = #nvvm.cta_group<cta_2>}
    // CHECK-NEXT: nvvm.tcgen05.relinquish_alloc_permit {group = #nvvm.cta_group<cta_2>}
    tile.tmem_alloc 512 to 65600 pair
    // CHECK: nvvm.cluster.arrive {aligned}
    // CHECK-NEXT: nvvm.cluster.wait {aligned}
    tile.sync_cluster
    // The barrier of the even CTA, which is the first of its cluster.
    // CHECK: %[[EVEN:.*]] = nvvm.mapa %{{.*}}, %{{.*}} : !llvm.ptr<3> -> !llvm.ptr<7>
    // CHECK: nvvm.mbarrier.arrive %[[EVEN]] {scope = #nvvm.mem_scope<cluster>}
    tile.arrive %b[%i] pair : !tile.barrier<2>
    // CHECK: %[[EVEN2:.*]] = nvvm.mapa
    // CHECK: nvvm.mbarrier.arrive.expect_tx %[[EVEN2]], %{{.*}} {scope = #nvvm.mem_scope<cluster>}
    tile.arrive_expect_tx %b[%i] bytes 8192 pair : !tile.barrier<2>
    %dst = tile.smem_address 0 : !llvm.ptr<3>
    // CHECK: %[[EVEN3:.*]] = nvvm.mapa
    // CHECK: %[[INT:.*]] = llvm.ptrtoint %[[EVEN3]]
    // CHECK: %[[BAR:.*]] = llvm.inttoptr %[[INT]]
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[BAR]], {{.*}}group = #nvvm.cta_group<cta_2>{{.*}} : !llvm.ptr<7>
    tile.tma_load %k[%i, %i, %i] column 0 to %dst signals %b[%i] pair : !t, !llvm.ptr<3>, !tile.barrier<2>
    // CHECK: nvvm.mbarrier.try_wait {{.*}}scope = #nvvm.mem_scope<cluster>
    tile.wait %b[%i] parity %i pair : !tile.barrier<2>
    %base = tile.tmem_base at 65600
    %d = tile.tmem_address 0 from %base : !llvm.ptr<6>
    %desc = tile.descriptor %dst plus 0 fields 4611756662049538048 : !llvm.ptr<3>
    %yes = arith.constant true
    // CHECK: nvvm.tcgen05.mma {{.*}}ctaGroup = #nvvm.cta_group<cta_2>
    tile.mma %d, %d, %desc instruction 270599312 accumulate %yes pair : !llvm.ptr<6>, !llvm.ptr<6>, i64
    // CHECK: nvvm.tcgen05.commit %{{[^,]*}} {group = #nvvm.cta_group<cta_2>}
    tile.commit %b[%i] pair : !tile.barrier<2>
    // CHECK: %[[BOTH:.*]] = llvm.mlir.constant(3 : i16)
    // CHECK: nvvm.tcgen05.commit %{{.*}}, multicast_mask = %[[BOTH]] {group = #nvvm.cta_group<cta_2>}
    tile.commit %b[%i] pair both : !tile.barrier<2>
    // CHECK: nvvm.tcgen05.dealloc {{.*}} {group = #nvvm.cta_group<cta_2>}
    tile.tmem_dealloc %base columns 512 pair
    gpu.return
  }
}
