// Maxima of rows of tensor memory, with a target that has tcgen05.ld.red and with one that has not.

// RUN: split-file %s %t && cat %t/reducing.mlir %t/kernels.mlir > %t/new.mlir && cat %t/other.mlir %t/kernels.mlir > %t/old.mlir
// RUN: fmha-opt %t/new.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-reduce-loads)))' | FileCheck %s
// RUN: fmha-opt %t/new.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-reduce-loads,tile-tcgen05-reduce-loads)))' | FileCheck %s
// RUN: fmha-opt %t/old.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-reduce-loads)))' | FileCheck %s --check-prefix=OTHER
// OTHER-NOT: tcgen05.
// RUN: fmha-opt %t/new.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-reduce-loads),convert-tcgen05-to-nvvm))' | FileCheck %s --check-prefix=PTX
// PTX: "tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {$0, $1}, $2, [$3];"

//--- reducing.mlir
#schedule = #fmha.schedule<target = "sm_103a">
//--- other.mlir
#schedule = #fmha.schedule<target = "sm_100a">
//--- kernels.mlir
gpu.module @kernels {
  // Two loads of one wait, and the maximum of earlier rows.
  // CHECK-LABEL: gpu.func @row
  // CHECK-SAME: %[[T:.*]]: !llvm.ptr<6>, %[[OLD:.*]]: f32
  gpu.func @row(%t: !llvm.ptr<6>, %old: f32, %out: memref<?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    // CHECK: %[[A:.*]], %[[AM:.*]] = tcgen05.ld_red max shape_32x32b %[[T]] of f32 : <6> -> vector<2xi32>
    // CHECK: %[[B:.*]], %[[BM:.*]] = tcgen05.ld_red max shape_16x32bx2 %[[T]] offset 8 of f32 : <6> -> vector<2xi32>
    // CHECK: %[[W:.*]]:4 = tcgen05.wait load of %[[A]], %[[AM]], %[[B]], %[[BM]]
    // CHECK-DAG: %[[M0:.*]] = arith.bitcast %[[W]]#1 : i32 to f32
    // CHECK-DAG: %[[M1:.*]] = arith.bitcast %[[W]]#3 : i32 to f32
    %a = tile.tmem_load %t : !llvm.ptr<6> -> vector<2xi32>
    %b = tile.tmem_load %t split 8 : !llvm.ptr<6> -> vector<2xi32>
    %w = tile.tmem_wait load of %a, %b : vector<2xi32>, vector<2xi32> to vector<4xi32>
    // CHECK: %[[ROW:.*]] = vector.bitcast
    %row = vector.bitcast %w : vector<4xi32> to vector<4xf32>
    %0 = vector.extract %row[0] : f32 from vector<4xf32>
    %1 = vector.extract %row[1] : f32 from vector<4xf32>
    %2 = vector.extract %row[2] : f32 from vector<4xf32>
    // CHECK: %[[LAST:.*]] = vector.extract %[[ROW]][3]
    %3 = vector.extract %row[3] : f32 from vector<4xf32>
    // CHECK: %[[M:.*]] = arith.maxnumf %[[M0]], %[[M1]]
    // CHECK: %[[NEW:.*]] = arith.maxnumf %[[OLD]], %[[M]]
    // CHECK-NOT: arith.maxnumf
    %4 = arith.maxnumf %0, %1 : f32
    %5 = arith.maxnumf %2, %3 : f32
    %6 = arith.maxnumf %4, %old : f32
    %7 = arith.maxnumf %6, %5 : f32
    // CHECK: arith.subf %[[LAST]], %[[NEW]]
    %8 = arith.subf %3, %7 : f32
    memref.store %8, %out[%c0] : memref<?xf32>
    gpu.return
  }

  // A mask on one side of a branch: that side takes the maximum of what it yields.
  // CHECK-LABEL: gpu.func @masked
  gpu.func @masked(%t: !llvm.ptr<6>, %hides: i1, %mask: vector<2xf32>, %out: memref<?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    // CHECK: %[[W:.*]]:2 = tcgen05.wait load
    %a = tile.tmem_load %t : !llvm.ptr<6> -> vector<2xi32>
    %w = tile.tmem_wait load of %a : vector<2xi32> to vector<2xi32>
    %row = vector.bitcast %w : vector<2xi32> to vector<2xf32>
    // CHECK: %[[IF:.*]]:2 = scf.if %{{.*}} -> (vector<2xf32>, f32)
    // CHECK: %[[SUM:.*]] = arith.addf
    // CHECK: %[[X:.*]] = vector.extract %[[SUM]][0]
    // CHECK: %[[Y:.*]] = vector.extract %[[SUM]][1]
    // CHECK: %[[MOST:.*]] = arith.maxnumf %[[X]], %[[Y]]
    // CHECK: scf.yield %[[SUM]], %[[MOST]]
    // CHECK: else
    // CHECK-NOT: arith.maxnumf
    // CHECK: scf.yield %{{.*}}, %{{.*}} : vector<2xf32>, f32
    %seen = scf.if %hides -> (vector<2xf32>) {
      %sum = arith.addf %row, %mask : vector<2xf32>
      scf.yield %sum : vector<2xf32>
    } else {
      scf.yield %row : vector<2xf32>
    }
    // CHECK-NOT: arith.maxnumf
    // CHECK: memref.store %[[IF]]#1
    %0 = vector.extract %seen[0] : f32 from vector<2xf32>
    %1 = vector.extract %seen[1] : f32 from vector<2xf32>
    %2 = arith.maxnumf %0, %1 : f32
    memref.store %2, %out[%c0] : memref<?xf32>
    gpu.return
  }

  // The maximum of one row is an operand of that of another.
  // CHECK-LABEL: gpu.func @after_another
  gpu.func @after_another(%t: !llvm.ptr<6>, %out: memref<?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK-COUNT-2: tcgen05.ld_red
    // CHECK-COUNT-1: arith.maxnumf
    // CHECK-NOT: arith.maxnumf
    %a = tile.tmem_load %t : !llvm.ptr<6> -> vector<2xi32>
    %wa = tile.tmem_wait load of %a : vector<2xi32> to vector<2xi32>
    %first = vector.bitcast %wa : vector<2xi32> to vector<2xf32>
    %0 = vector.extract %first[0] : f32 from vector<2xf32>
    %1 = vector.extract %first[1] : f32 from vector<2xf32>
    %2 = arith.maxnumf %0, %1 : f32
    memref.store %2, %out[%c1] : memref<?xf32>
    %b = tile.tmem_load %t : !llvm.ptr<6> -> vector<2xi32>
    %wb = tile.tmem_wait load of %b : vector<2xi32> to vector<2xi32>
    %second = vector.bitcast %wb : vector<2xi32> to vector<2xf32>
    %3 = vector.extract %second[0] : f32 from vector<2xf32>
    %4 = vector.extract %second[1] : f32 from vector<2xf32>
    %5 = arith.maxnumf %2, %3 : f32
    %6 = arith.maxnumf %5, %4 : f32
    memref.store %6, %out[%c0] : memref<?xf32>
    gpu.return
  }

  // A column is missing, a column is scaled before, or the row is not all that is loaded.
  // CHECK-LABEL: gpu.func @others
  // CHECK-NOT: tcgen05.
  gpu.func @others(%t: !llvm.ptr<6>, %scale: f32, %out: memref<?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tile.tmem_load %t : !llvm.ptr<6> -> vector<4xi32>
    %w = tile.tmem_wait load of %a : vector<4xi32> to vector<4xi32>
    %row = vector.bitcast %w : vector<4xi32> to vector<4xf32>
    %0 = vector.extract %row[0] : f32 from vector<4xf32>
    %1 = vector.extract %row[1] : f32 from vector<4xf32>
    %2 = vector.extract %row[2] : f32 from vector<4xf32>
    %3 = vector.extract %row[3] : f32 from vector<4xf32>
    %4 = arith.maxnumf %0, %1 : f32
    %5 = arith.maxnumf %4, %2 : f32
    %6 = arith.mulf %3, %scale : f32
    %7 = arith.maxnumf %5, %6 : f32
    memref.store %7, %out[%c0] : memref<?xf32>
    %8 = vector.extract_strided_slice %row {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
    %9 = vector.extract %8[0] : f32 from vector<2xf32>
    %10 = vector.extract %8[1] : f32 from vector<2xf32>
    %11 = arith.maxnumf %9, %10 : f32
    memref.store %11, %out[%c1] : memref<?xf32>
    gpu.return
  }

  // Each of these branches would double the code.
  // CHECK-LABEL: gpu.func @many_branches
  // CHECK-NOT: tcgen05.
  gpu.func @many_branches(%t: !llvm.ptr<6>, %c: i1, %out: memref<?xf32>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %a = tile.tmem_load %t : !llvm.ptr<6> -> vector<2xi32>
    %w = tile.tmem_wait load of %a : vector<2xi32> to vector<2xi32>
    %r0 = vector.bitcast %w : vector<2xi32> to vector<2xf32>
    %r1 = scf.if %c -> (vector<2xf32>) {
      scf.yield %r0 : vector<2xf32>
    } else {
      scf.yield %r0 : vector<2xf32>
    }
    %r2 = scf.if %c -> (vector<2xf32>) {
      scf.yield %r1 : vector<2xf32>
    } else {
      scf.yield %r1 : vector<2xf32>
    }
    %r3 = scf.if %c -> (vector<2xf32>) {
      scf.yield %r2 : vector<2xf32>
    } else {
      scf.yield %r2 : vector<2xf32>
    }
    %r4 = scf.if %c -> (vector<2xf32>) {
      scf.yield %r3 : vector<2xf32>
    } else {
      scf.yield %r3 : vector<2xf32>
    }
    %r5 = scf.if %c -> (vector<2xf32>) {
      scf.yield %r4 : vector<2xf32>
    } else {
      scf.yield %r4 : vector<2xf32>
    }
    %x = vector.extract %r5[0] : f32 from vector<2xf32>
    %y = vector.extract %r5[1] : f32 from vector<2xf32>
    %z = arith.maxnumf %x, %y : f32
    memref.store %z, %out[%c0] : memref<?xf32>
    gpu.return
  }
}
