// Where a loop passes on P in slices, blocks without a mask get a loop of their own, and the body with the mask follows it in an outer loop.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-separate-masks)))' | FileCheck %s
// A second run changes nothing.
// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-separate-masks,tile-tcgen05-separate-masks)))' | FileCheck %s

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25, p_slices = 2>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @mask
  // CHECK-SAME: %[[T:.*]]: !llvm.ptr<6>, %[[END:.*]]: index, %[[KEYS:.*]]: i32, %[[SUMS:.*]]: !llvm.ptr<3>
  gpu.func @mask(%t: !llvm.ptr<6>, %end: index, %keys: i32, %sums: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %two = arith.constant 2 : i32
    // CHECK: %[[OUTER:.*]]:2 = scf.while (%[[N:.*]] = %c0, %[[A:.*]] = %{{.*}}) : (index, f32) -> (index, f32) {
    // CHECK-NEXT: %[[MORE:.*]] = arith.cmpi slt, %[[N]], %[[END]] : index
    // CHECK-NEXT: scf.condition(%[[MORE]]) %[[N]], %[[A]] : index, f32
    // CHECK: ^bb0(%[[N1:.*]]: index, %[[A1:.*]]: f32):
    // CHECK: %[[HOT:.*]]:2 = scf.while (%[[N2:.*]] = %[[N1]], %[[A2:.*]] = %[[A1]])
    // The condition of the mask, and its opposite.
    // CHECK: %[[I:.*]] = arith.index_cast %[[N2]] : index to i32
    // CHECK: %[[KEY:.*]] = arith.muli %[[I]], %{{.*}} : i32
    // CHECK: %[[LEFT:.*]] = arith.subi %[[KEYS]], %[[KEY]] : i32
    // CHECK: %[[MASKED:.*]] = arith.cmpi slt, %[[LEFT]], %{{.*}} : i32
    // CHECK: %[[PLAIN:.*]] = arith.xori %[[MASKED]], %{{.*}} : i1
    // CHECK: %[[IN:.*]] = arith.cmpi slt, %[[N2]], %[[END]] : index
    // CHECK: %[[BOTH:.*]] = arith.andi %[[IN]], %[[PLAIN]] : i1
    // CHECK: scf.condition(%[[BOTH]]) %[[N2]], %[[A2]]
    // The body without a mask.
    // CHECK: ^bb0(%[[N3:.*]]: index, %[[A3:.*]]: f32):
    // CHECK: tile.tmem_load %[[T]]
    // CHECK-NOT: arith.select
    // CHECK: %[[SUM:.*]] = arith.addf %[[A3]], %{{.*}} : f32
    // CHECK: %[[NEXT:.*]] = arith.addi %[[N3]], %c1 : index
    // CHECK: scf.yield %[[NEXT]], %[[SUM]] : index, f32
    // The body with the mask, if the inner loop left a block.
    // CHECK: %[[REST:.*]] = arith.cmpi slt, %[[HOT]]#0, %[[END]] : index
    // CHECK: %[[IF:.*]]:2 = scf.if %[[REST]] -> (index, f32) {
    // CHECK: tile.tmem_load %[[T]]
    // CHECK: arith.select
    // CHECK: %[[SUM1:.*]] = arith.addf %[[HOT]]#1, %{{.*}} : f32
    // CHECK: %[[NEXT1:.*]] = arith.addi %[[HOT]]#0, %c1 : index
    // CHECK: scf.yield %[[NEXT1]], %[[SUM1]] : index, f32
    // CHECK: } else {
    // CHECK-NEXT: scf.yield %[[HOT]]#0, %[[HOT]]#1 : index, f32
    // CHECK: scf.yield %[[IF]]#0, %[[IF]]#1 : index, f32
    %sum = scf.for %n = %c0 to %end step %c1 iter_args(%a = %zero) -> (f32) {
      %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<128xi32>
      %w = tile.tmem_wait load of %v : vector<128xi32> to vector<128xi32>
      %row = vector.bitcast %w : vector<128xi32> to vector<128xf32>
      %i = arith.index_cast %n : index to i32
      %key = arith.muli %i, %two : i32
      %left = arith.subi %keys, %key : i32
      %masked = arith.cmpi slt, %left, %two : i32
      %seen = scf.if %masked -> (vector<128xf32>) {
        %places = arith.constant dense<1> : vector<128xi32>
        %none = arith.constant dense<0xFF800000> : vector<128xf32>
        %lefts = vector.broadcast %left : i32 to vector<128xi32>
        %sees = arith.cmpi slt, %places, %lefts : vector<128xi32>
        %replaced = arith.select %sees, %row, %none : vector<128xi1>, vector<128xf32>
        scf.yield %replaced : vector<128xf32>
      } else {
        scf.yield %row : vector<128xf32>
      }
      %first = vector.extract %seen[0] : f32 from vector<128xf32>
      tile.tmem_store %w, %t : vector<128xi32>, !llvm.ptr<6>
      tile.tmem_wait store
      tile.fence tcgen05_before
      tile.arrive %slice[%c0] : !tile.barrier<1>
      %last = math.exp2 %first : f32
      %next = arith.addf %a, %last : f32
      scf.yield %next : f32
    }
    // CHECK: llvm.store %[[OUTER]]#1, %[[SUMS]]
    llvm.store %sum, %sums : f32, !llvm.ptr<3>
    gpu.return
  }

  // The side that is taken under the condition has no mask, and the branch has two results.
  // CHECK-LABEL: gpu.func @plain_first
  // CHECK: scf.while
  // CHECK: scf.while
  // CHECK-NOT: arith.xori
  // CHECK: scf.condition
  // CHECK: tile.tmem_load
  // CHECK-NOT: arith.negf
  // CHECK: scf.if
  // CHECK: tile.tmem_load
  // CHECK: arith.negf
  gpu.func @plain_first(%t: !llvm.ptr<6>, %begin: i32, %end: i32, %plain: i1, %sums: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    scf.for unsigned %n = %begin to %end step %one : i32 {
      %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<128xi32>
      %w = tile.tmem_wait load of %v : vector<128xi32> to vector<128xi32>
      %row = vector.bitcast %w : vector<128xi32> to vector<128xf32>
      %m = vector.extract %row[1] : f32 from vector<128xf32>
      %seen, %max = scf.if %plain -> (vector<128xf32>, f32) {
        scf.yield %row, %m : vector<128xf32>, f32
      } else {
        %r = arith.negf %row : vector<128xf32>
        %x = vector.extract %r[0] : f32 from vector<128xf32>
        scf.yield %r, %x : vector<128xf32>, f32
      }
      tile.tmem_store %w, %t : vector<128xi32>, !llvm.ptr<6>
      tile.tmem_wait store
      tile.fence tcgen05_before
      tile.arrive %slice[%c0] : !tile.barrier<1>
      %last = math.exp2 %max : f32
      llvm.store %last, %sums : f32, !llvm.ptr<3>
    }
    gpu.return
  }

  // Five values of a thread live across the loop: four that are loaded, and its number. A part of a number that all threads have, and a barrier, are none.
  // CHECK-LABEL: gpu.func @five_values
  // CHECK: scf.while
  gpu.func @five_values(%t: !llvm.ptr<6>, %end: index, %masked: i1, %x: f32, %to: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %thread = gpu.thread_id x
    %part = arith.divui %end, %c8 : index
    %a = llvm.load %to : !llvm.ptr<3> -> i32
    %b = llvm.load %to : !llvm.ptr<3> -> i32
    %c = llvm.load %to : !llvm.ptr<3> -> i32
    %d = llvm.load %to : !llvm.ptr<3> -> i32
    scf.for %n = %c0 to %end step %c1 {
      %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<128xi32>
      %w = tile.tmem_wait load of %v : vector<128xi32> to vector<128xi32>
      %y = scf.if %masked -> (vector<128xi32>) {
        %r = arith.addi %w, %w : vector<128xi32>
        scf.yield %r : vector<128xi32>
      } else {
        scf.yield %w : vector<128xi32>
      }
      tile.tmem_store %w, %t : vector<128xi32>, !llvm.ptr<6>
      tile.tmem_wait store
      tile.fence tcgen05_before
      tile.arrive %slice[%c0] : !tile.barrier<1>
      %last = math.exp2 %x : f32
      llvm.store %last, %to : f32, !llvm.ptr<3>
    }
    llvm.store %a, %to : i32, !llvm.ptr<3>
    llvm.store %b, %to : i32, !llvm.ptr<3>
    llvm.store %c, %to : i32, !llvm.ptr<3>
    llvm.store %d, %to : i32, !llvm.ptr<3>
    %sum = arith.addi %thread, %part : index
    %word = arith.index_cast %sum : index to i32
    llvm.store %word, %to : i32, !llvm.ptr<3>
    gpu.return
  }
}
