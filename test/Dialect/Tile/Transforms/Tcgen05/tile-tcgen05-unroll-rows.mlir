// Elements of a row are computed in pairs, in the order of the stores that need them.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-unroll-rows)))' --split-input-file | FileCheck %s
// A second run changes nothing.
// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-unroll-rows,tile-tcgen05-unroll-rows)))' --split-input-file | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @row
  // CHECK-SAME: %[[S:.*]]: !llvm.ptr<6>, %[[P:.*]]: !llvm.ptr<6>, %{{.*}}: f32
  gpu.func @row(%s: !llvm.ptr<6>, %p: !llvm.ptr<6>, %shift: f32, %sums: !llvm.ptr<3>) kernel attributes {fmha.schedule = #schedule} {
    %v = tile.tmem_load %s : !llvm.ptr<6> -> vector<64xi32>
    // CHECK: %[[W:.*]] = tile.tmem_wait load
    %w = tile.tmem_wait load of %v : vector<64xi32> to vector<64xi32>
    %x = vector.bitcast %w : vector<64xi32> to vector<64xf32>
    %scale = arith.constant dense<0.125> : vector<64xf32>
    %shifts = vector.broadcast %shift : f32 to vector<64xf32>
    %y = math.fma %x, %scale, %shifts : vector<64xf32>
    // The first 12 elements are exponentials, and the next four are not.
    // CHECK: %[[W0:.*]] = vector.extract_strided_slice %[[W]] {offsets = [0], sizes = [2], strides = [1]}
    // CHECK: %[[X0:.*]] = vector.bitcast %[[W0]] : vector<2xi32> to vector<2xf32>
    // CHECK: %[[Y0:.*]] = math.fma %[[X0]], %{{.*}}, %{{.*}} : vector<2xf32>
    // CHECK: %[[E0:.*]] = math.exp2 %[[Y0]] : vector<2xf32>
    // CHECK: %[[T0:.*]] = arith.truncf %[[E0]] : vector<2xf32> to vector<2xbf16>
    // CHECK: %[[B0:.*]] = llvm.bitcast %[[T0]] : vector<2xbf16> to i32
    // CHECK: vector.extract_strided_slice %[[W]] {offsets = [2], sizes = [2], strides = [1]}
    // CHECK: vector.extract_strided_slice %[[W]] {offsets = [10], sizes = [2], strides = [1]}
    // CHECK: math.exp2
    // CHECK: vector.extract_strided_slice %[[W]] {offsets = [12], sizes = [2], strides = [1]}
    // CHECK-NOT: math.exp2
    // CHECK: arith.maximumf %{{.*}} : vector<2xf32>
    // CHECK-NOT: math.exp2
    // CHECK: vector.extract_strided_slice %[[W]] {offsets = [16], sizes = [2], strides = [1]}
    // CHECK: math.exp2
    // CHECK: vector.extract_strided_slice %[[W]] {offsets = [30], sizes = [2], strides = [1]}
    // CHECK: %[[FIRST:.*]] = vector.from_elements %[[B0]], {{.*}} : vector<16xi32>
    // CHECK: tile.tmem_store %[[FIRST]], %[[P]] : vector<16xi32>
    // CHECK: vector.extract_strided_slice %[[W]] {offsets = [32], sizes = [2], strides = [1]}
    // CHECK: vector.extract_strided_slice %[[W]] {offsets = [62], sizes = [2], strides = [1]}
    // CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[P]]
    // CHECK: tile.tmem_store %{{.*}}, %[[NEXT]] : vector<16xi32>
    // CHECK-NEXT: tile.tmem_wait store
    %a0 = vector.extract_strided_slice %y {offsets = [0], sizes = [12], strides = [1]} : vector<64xf32> to vector<12xf32>
    %e0 = math.exp2 %a0 : vector<12xf32>
    %z0 = vector.insert_strided_slice %e0, %y {offsets = [0], strides = [1]} : vector<12xf32> into vector<64xf32>
    %a1 = vector.extract_strided_slice %y {offsets = [12], sizes = [4], strides = [1]} : vector<64xf32> to vector<4xf32>
    %least = arith.constant dense<-127.0> : vector<4xf32>
    %e1 = arith.maximumf %a1, %least : vector<4xf32>
    %z1 = vector.insert_strided_slice %e1, %z0 {offsets = [12], strides = [1]} : vector<4xf32> into vector<64xf32>
    %a2 = vector.extract_strided_slice %y {offsets = [16], sizes = [48], strides = [1]} : vector<64xf32> to vector<48xf32>
    %e2 = math.exp2 %a2 : vector<48xf32>
    %z2 = vector.insert_strided_slice %e2, %z1 {offsets = [16], strides = [1]} : vector<48xf32> into vector<64xf32>
    %t = arith.truncf %z2 : vector<64xf32> to vector<64xbf16>
    %words = vector.bitcast %t : vector<64xbf16> to vector<32xi32>
    tile.tmem_store %words, %p : vector<32xi32>, !llvm.ptr<6>
    tile.tmem_wait store
    // Sums of the same elements follow, without further exponentials.
    // CHECK-NOT: math.exp2
    // CHECK: arith.addf %[[E0]], %{{.*}} : vector<2xf32>
    // CHECK-NOT: vector<32xf32>
    // CHECK: llvm.store
    %low = vector.extract_strided_slice %z2 {offsets = [0], sizes = [32], strides = [1]} : vector<64xf32> to vector<32xf32>
    %high = vector.extract_strided_slice %z2 {offsets = [32], sizes = [32], strides = [1]} : vector<64xf32> to vector<32xf32>
    %sum = arith.addf %low, %high : vector<32xf32>
    %number = vector.extract %sum[0] : f32 from vector<32xf32>
    llvm.store %number, %sums : f32, !llvm.ptr<3>
    gpu.return
  }

  // A block that only moves numbers stays as it is.
  // CHECK-LABEL: gpu.func @rescaled
  gpu.func @rescaled(%o: !llvm.ptr<6>, %alpha: f32) kernel attributes {fmha.schedule = #schedule} {
    %v = tile.tmem_load %o : !llvm.ptr<6> -> vector<32xi32>
    %w = tile.tmem_wait load of %v : vector<32xi32> to vector<32xi32>
    %x = vector.bitcast %w : vector<32xi32> to vector<32xf32>
    %f = vector.broadcast %alpha : f32 to vector<32xf32>
    // CHECK: arith.mulf %{{.*}} : vector<32xf32>
    // CHECK: tile.tmem_store %{{.*}} : vector<32xi32>
    %y = arith.mulf %x, %f : vector<32xf32>
    %words = vector.bitcast %y : vector<32xf32> to vector<32xi32>
    tile.tmem_store %words, %o : vector<32xi32>, !llvm.ptr<6>
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a">
gpu.module @kernels {
  // Without emulated exponentials nothing changes.
  // CHECK-LABEL: gpu.func @not_emulated
  gpu.func @not_emulated(%s: !llvm.ptr<6>, %p: !llvm.ptr<6>) kernel attributes {fmha.schedule = #schedule} {
    %v = tile.tmem_load %s : !llvm.ptr<6> -> vector<64xi32>
    %w = tile.tmem_wait load of %v : vector<64xi32> to vector<64xi32>
    %x = vector.bitcast %w : vector<64xi32> to vector<64xf32>
    // CHECK: math.exp2 %{{.*}} : vector<64xf32>
    // CHECK: tile.tmem_store %{{.*}} : vector<32xi32>
    %e = math.exp2 %x : vector<64xf32>
    %t = arith.truncf %e : vector<64xf32> to vector<64xbf16>
    %words = vector.bitcast %t : vector<64xbf16> to vector<32xi32>
    tile.tmem_store %words, %p : vector<32xi32>, !llvm.ptr<6>
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25>
gpu.module @kernels {
  // No store waits for the sum, which only the next iteration uses.
  // CHECK-LABEL: gpu.func @sums_last
  gpu.func @sums_last(%n: index, %s: !llvm.ptr<6>, %p: !llvm.ptr<6>, %sums: !llvm.ptr<3>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    // CHECK: scf.for
    // CHECK-NOT: arith.addf
    // CHECK: tile.tmem_wait store
    // CHECK: arith.addf
    // CHECK-NEXT: scf.yield
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero) -> (f32) {
      %v = tile.tmem_load %s : !llvm.ptr<6> -> vector<64xi32>
      %w = tile.tmem_wait load of %v : vector<64xi32> to vector<64xi32>
      %x = vector.bitcast %w : vector<64xi32> to vector<64xf32>
      %e = math.exp2 %x : vector<64xf32>
      %first = vector.extract %e[0] : f32 from vector<64xf32>
      %after = arith.addf %before, %first : f32
      %t = arith.truncf %e : vector<64xf32> to vector<64xbf16>
      %words = vector.bitcast %t : vector<64xbf16> to vector<32xi32>
      tile.tmem_store %words, %p : vector<32xi32>, !llvm.ptr<6>
      tile.tmem_wait store
      scf.yield %after : f32
    }
    llvm.store %sum, %sums : f32, !llvm.ptr<3>
    gpu.return
  }
}

// -----

// A branch that no thread takes follows the signal of the first of two slices, and none that of the last.

#slices = #fmha.schedule<target = "sm_100a", exp2_emulated = 25, p_slices = 2>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @slices
  // CHECK: math.exp2
  // CHECK: tile.tmem_store
  // CHECK: tile.arrive
  // CHECK-NEXT: llvm.inline_asm has_side_effects "{ .reg .pred p; .reg .b32 n; mov.u32 n, %nctaid.y; setp.eq.u32 p, n, 12345; @p exit; }"
  // CHECK: math.exp2
  // CHECK: tile.tmem_store
  // CHECK: tile.arrive
  // CHECK-NOT: llvm.inline_asm
  // CHECK: gpu.return
  gpu.func @slices(%x: vector<4xf32>, %p: !llvm.ptr<6>, %q: !llvm.ptr<6>, %first: !tile.barrier<1>, %last: !tile.barrier<1>) kernel attributes {fmha.schedule = #slices} {
    %c0 = arith.constant 0 : index
    %e = math.exp2 %x : vector<4xf32>
    %t = arith.truncf %e : vector<4xf32> to vector<4xbf16>
    %w = vector.bitcast %t : vector<4xbf16> to vector<2xi32>
    tile.tmem_store %w, %p : vector<2xi32>, !llvm.ptr<6>
    tile.tmem_wait store
    tile.fence tcgen05_before
    tile.arrive %first[%c0] : !tile.barrier<1>
    %y = arith.negf %x : vector<4xf32>
    %f = math.exp2 %y : vector<4xf32>
    %u = arith.truncf %f : vector<4xf32> to vector<4xbf16>
    %v = vector.bitcast %u : vector<4xbf16> to vector<2xi32>
    tile.tmem_store %v, %q : vector<2xi32>, !llvm.ptr<6>
    tile.tmem_wait store
    tile.fence tcgen05_before
    tile.arrive %last[%c0] : !tile.barrier<1>
    gpu.return
  }
}
