// Vectors that do not consist of whole pairs are sliced where they are used, instead of being computed in pairs.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-unroll-rows)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25, p_slices = 2>
#plain = #fmha.schedule<target = "sm_100a", p_slices = 2>
#reducing = #fmha.schedule<target = "sm_103a", exp2_emulated = 25, p_slices = 2>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @odd
  gpu.func @odd(%s: !llvm.ptr<6>, %p: !llvm.ptr<6>, %x: vector<8xf32>, %y: vector<2xf32>, %five: vector<5xf32>, %to: !llvm.ptr<3>) kernel attributes {fmha.schedule = #schedule} {
    // An insertion and a slice that begin in the middle of a pair.
    // CHECK: %[[E:.*]] = math.exp2 %{{.*}} : vector<8xf32>
    // CHECK: %[[I:.*]] = vector.insert_strided_slice %{{.*}}, %[[E]] {offsets = [3], strides = [1]}
    // CHECK: %[[J:.*]] = vector.extract_strided_slice %[[I]] {offsets = [1], sizes = [4], strides = [1]}
    %e = math.exp2 %x : vector<8xf32>
    %i = vector.insert_strided_slice %y, %e {offsets = [3], strides = [1]} : vector<2xf32> into vector<8xf32>
    %j = vector.extract_strided_slice %i {offsets = [1], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
    // CHECK: %[[P0:.*]] = vector.extract_strided_slice %[[J]] {offsets = [0], sizes = [2], strides = [1]}
    // CHECK: %[[P1:.*]] = vector.extract_strided_slice %[[J]] {offsets = [2], sizes = [2], strides = [1]}
    // CHECK: tile.tmem_store %{{.*}} : vector<2xi32>
    %t = arith.truncf %j : vector<4xf32> to vector<4xbf16>
    %w = vector.bitcast %t : vector<4xbf16> to vector<2xi32>
    tile.tmem_store %w, %p : vector<2xi32>, !llvm.ptr<6>
    // An odd number of elements.
    // CHECK: vector.extract %{{.*}}[4] : f32 from vector<5xf32>
    %last = vector.extract %five[4] : f32 from vector<5xf32>
    llvm.store %last, %to : f32, !llvm.ptr<3>
    gpu.return
  }

  // A product with two results.
  // CHECK-LABEL: gpu.func @two_results
  // CHECK: %{{.*}}, %[[HIGH:.*]] = arith.mului_extended %{{.*}} : vector<4xi32>
  // CHECK: vector.extract_strided_slice %[[HIGH]] {offsets = [0], sizes = [2], strides = [1]}
  gpu.func @two_results(%x: vector<4xf32>, %a: vector<4xi32>, %p: !llvm.ptr<6>) kernel attributes {fmha.schedule = #schedule} {
    %e = math.exp2 %x : vector<4xf32>
    %w = arith.bitcast %e : vector<4xf32> to vector<4xi32>
    %low, %high = arith.mului_extended %w, %a : vector<4xi32>
    tile.tmem_store %high, %p : vector<4xi32>, !llvm.ptr<6>
    gpu.return
  }

  // The last words of an odd number.
  // CHECK-LABEL: gpu.func @odd_words
  // CHECK-DAG: vector.extract %{{.*}}[3] : i32 from vector<5xi32>
  // CHECK-DAG: vector.extract %{{.*}}[4] : i32 from vector<5xi32>
  gpu.func @odd_words(%x: vector<4xf32>, %a: vector<5xi32>, %p: !llvm.ptr<6>, %q: !llvm.ptr<6>) kernel attributes {fmha.schedule = #schedule} {
    %e = math.exp2 %x : vector<4xf32>
    %w = arith.bitcast %e : vector<4xf32> to vector<4xi32>
    tile.tmem_store %w, %p : vector<4xi32>, !llvm.ptr<6>
    %s = vector.extract_strided_slice %a {offsets = [3], sizes = [2], strides = [1]} : vector<5xi32> to vector<2xi32>
    tile.tmem_store %s, %q : vector<2xi32>, !llvm.ptr<6>
    gpu.return
  }

  // One number, and a whole vector.
  // CHECK-LABEL: gpu.func @ranks
  // CHECK: math.exp2 %{{.*}} : vector<f32>
  // CHECK: vector.extract %{{.*}}[] : vector<4xf32> from vector<4xf32>
  gpu.func @ranks(%number: vector<f32>, %x: vector<4xf32>, %to: memref<vector<f32>>, %p: !llvm.ptr<6>) kernel attributes {fmha.schedule = #schedule} {
    %one = math.exp2 %number : vector<f32>
    memref.store %one, %to[] : memref<vector<f32>>
    %e = math.exp2 %x : vector<4xf32>
    %f = vector.extract %e[] : vector<4xf32> from vector<4xf32>
    %w = vector.bitcast %f : vector<4xf32> to vector<4xi32>
    tile.tmem_store %w, %p : vector<4xi32>, !llvm.ptr<6>
    gpu.return
  }

  // A signal without a store to tensor memory before it is not that of a slice.
  // CHECK-LABEL: gpu.func @other_signal
  // CHECK-NOT: llvm.inline_asm
  // CHECK: gpu.return
  gpu.func @other_signal(%x: vector<4xf32>, %p: !llvm.ptr<6>, %first: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    tile.fence tcgen05_before
    tile.arrive %first[%c0] : !tile.barrier<1>
    %e = math.exp2 %x : vector<4xf32>
    %t = arith.truncf %e : vector<4xf32> to vector<4xbf16>
    %w = vector.bitcast %t : vector<4xbf16> to vector<2xi32>
    tile.tmem_store %w, %p : vector<2xi32>, !llvm.ptr<6>
    gpu.return
  }

  // With a branch to a mask in its block a slice does not end one: ptxas would copy scores where the sides join.
  // CHECK-LABEL: gpu.func @masked_slices
  // CHECK-NOT: llvm.inline_asm
  // CHECK: gpu.return
  gpu.func @masked_slices(%x: vector<4xf32>, %masked: i1, %p: !llvm.ptr<6>, %first: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %y = scf.if %masked -> (vector<4xf32>) {
      %r = arith.negf %x : vector<4xf32>
      scf.yield %r : vector<4xf32>
    } else {
      scf.yield %x : vector<4xf32>
    }
    %e = math.exp2 %y : vector<4xf32>
    %t = arith.truncf %e : vector<4xf32> to vector<4xbf16>
    %w = vector.bitcast %t : vector<4xbf16> to vector<2xi32>
    tile.tmem_store %w, %p : vector<2xi32>, !llvm.ptr<6>
    tile.tmem_wait store
    tile.fence tcgen05_before
    tile.arrive %first[%c0] : !tile.barrier<1>
    %f = math.exp2 %e : vector<4xf32>
    %u = arith.truncf %f : vector<4xf32> to vector<4xbf16>
    %v = vector.bitcast %u : vector<4xbf16> to vector<2xi32>
    tile.tmem_store %v, %p : vector<2xi32>, !llvm.ptr<6>
    gpu.return
  }

  // Without emulated exponentials and where loads compute maxima no block ends.
  // CHECK-LABEL: gpu.func @slices_without_emulation
  // CHECK-NOT: llvm.inline_asm
  // CHECK: gpu.return
  gpu.func @slices_without_emulation(%x: vector<4xf32>, %masked: i1, %p: !llvm.ptr<6>, %first: !tile.barrier<1>) kernel attributes {fmha.schedule = #plain} {
    %c0 = arith.constant 0 : index
    %e = math.exp2 %x : vector<4xf32>
    %t = arith.truncf %e : vector<4xf32> to vector<4xbf16>
    %w = vector.bitcast %t : vector<4xbf16> to vector<2xi32>
    tile.tmem_store %w, %p : vector<2xi32>, !llvm.ptr<6>
    tile.tmem_wait store
    tile.fence tcgen05_before
    tile.arrive %first[%c0] : !tile.barrier<1>
    %f = math.exp2 %e : vector<4xf32>
    %u = arith.truncf %f : vector<4xf32> to vector<4xbf16>
    %v = vector.bitcast %u : vector<4xbf16> to vector<2xi32>
    tile.tmem_store %v, %p : vector<2xi32>, !llvm.ptr<6>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @slices_of_reducing_loads
  // CHECK-NOT: llvm.inline_asm
  // CHECK: gpu.return
  gpu.func @slices_of_reducing_loads(%x: vector<4xf32>, %masked: i1, %p: !llvm.ptr<6>, %first: !tile.barrier<1>) kernel attributes {fmha.schedule = #reducing} {
    %c0 = arith.constant 0 : index
    %e = math.exp2 %x : vector<4xf32>
    %t = arith.truncf %e : vector<4xf32> to vector<4xbf16>
    %w = vector.bitcast %t : vector<4xbf16> to vector<2xi32>
    tile.tmem_store %w, %p : vector<2xi32>, !llvm.ptr<6>
    tile.tmem_wait store
    tile.fence tcgen05_before
    tile.arrive %first[%c0] : !tile.barrier<1>
    %f = math.exp2 %e : vector<4xf32>
    %u = arith.truncf %f : vector<4xf32> to vector<4xbf16>
    %v = vector.bitcast %u : vector<4xbf16> to vector<2xi32>
    tile.tmem_store %v, %p : vector<2xi32>, !llvm.ptr<6>
    gpu.return
  }

  // A scalable vector has a number of elements that is not known here.
  // CHECK-LABEL: gpu.func @scalable
  // CHECK: vector.extract %{{.*}}[3] : f32 from vector<[4]xf32>
  gpu.func @scalable(%x: vector<8xf32>, %any: vector<[4]xf32>, %p: !llvm.ptr<6>, %to: !llvm.ptr<3>) kernel attributes {fmha.schedule = #schedule} {
    %e = math.exp2 %x : vector<8xf32>
    %w = vector.bitcast %e : vector<8xf32> to vector<8xi32>
    tile.tmem_store %w, %p : vector<8xi32>, !llvm.ptr<6>
    %y = math.exp2 %any : vector<[4]xf32>
    %last = vector.extract %y[3] : f32 from vector<[4]xf32>
    llvm.store %last, %to : f32, !llvm.ptr<3>
    gpu.return
  }
}
