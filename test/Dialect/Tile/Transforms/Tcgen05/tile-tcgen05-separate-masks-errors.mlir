// Loops that keep their branch: rows are short, nothing is loaded, the branch comes first, its condition needs a load, there are two masks, or both
// sides compute.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-separate-masks)))' | FileCheck %s
// CHECK-NOT: scf.while

#schedule = #fmha.schedule<target = "sm_100a">
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @short_row
  gpu.func @short_row(%t: !llvm.ptr<6>, %end: index, %masked: i1, %to: !llvm.ptr<3>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %n = %c0 to %end step %c1 {
      %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<64xi32>
      %w = tile.tmem_wait load of %v : vector<64xi32> to vector<64xi32>
      %y = scf.if %masked -> (vector<64xi32>) {
        %r = arith.addi %w, %w : vector<64xi32>
        scf.yield %r : vector<64xi32>
      } else {
        scf.yield %w : vector<64xi32>
      }
      llvm.store %y, %to : vector<64xi32>, !llvm.ptr<3>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @no_load
  gpu.func @no_load(%end: index, %masked: i1, %x: vector<128xf32>, %to: !llvm.ptr<3>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %n = %c0 to %end step %c1 {
      %y = scf.if %masked -> (vector<128xf32>) {
        %r = arith.negf %x : vector<128xf32>
        scf.yield %r : vector<128xf32>
      } else {
        scf.yield %x : vector<128xf32>
      }
      llvm.store %y, %to : vector<128xf32>, !llvm.ptr<3>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @branch_first
  gpu.func @branch_first(%t: !llvm.ptr<6>, %end: index, %masked: i1, %x: vector<128xi32>, %to: !llvm.ptr<3>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %n = %c0 to %end step %c1 {
      %y = scf.if %masked -> (vector<128xi32>) {
        %r = arith.addi %x, %x : vector<128xi32>
        scf.yield %r : vector<128xi32>
      } else {
        scf.yield %x : vector<128xi32>
      }
      %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<128xi32>
      %w = tile.tmem_wait load of %v : vector<128xi32> to vector<128xi32>
      %sum = arith.addi %w, %y : vector<128xi32>
      llvm.store %sum, %to : vector<128xi32>, !llvm.ptr<3>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @condition_of_load
  gpu.func @condition_of_load(%t: !llvm.ptr<6>, %end: index, %to: !llvm.ptr<3>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    scf.for %n = %c0 to %end step %c1 {
      %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<128xi32>
      %w = tile.tmem_wait load of %v : vector<128xi32> to vector<128xi32>
      %first = vector.extract %w[0] : i32 from vector<128xi32>
      %masked = arith.cmpi slt, %first, %zero : i32
      %y = scf.if %masked -> (vector<128xi32>) {
        %r = arith.addi %w, %w : vector<128xi32>
        scf.yield %r : vector<128xi32>
      } else {
        scf.yield %w : vector<128xi32>
      }
      llvm.store %y, %to : vector<128xi32>, !llvm.ptr<3>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @two_masks
  gpu.func @two_masks(%t: !llvm.ptr<6>, %end: index, %masked: i1, %other: i1, %to: !llvm.ptr<3>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %n = %c0 to %end step %c1 {
      %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<128xi32>
      %w = tile.tmem_wait load of %v : vector<128xi32> to vector<128xi32>
      %y = scf.if %masked -> (vector<128xi32>) {
        %r = arith.addi %w, %w : vector<128xi32>
        scf.yield %r : vector<128xi32>
      } else {
        scf.yield %w : vector<128xi32>
      }
      %z = scf.if %other -> (vector<128xi32>) {
        %r = arith.muli %y, %y : vector<128xi32>
        scf.yield %r : vector<128xi32>
      } else {
        scf.yield %y : vector<128xi32>
      }
      llvm.store %z, %to : vector<128xi32>, !llvm.ptr<3>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @both_sides
  gpu.func @both_sides(%t: !llvm.ptr<6>, %end: index, %masked: i1, %to: !llvm.ptr<3>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %n = %c0 to %end step %c1 {
      %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<128xi32>
      %w = tile.tmem_wait load of %v : vector<128xi32> to vector<128xi32>
      %y = scf.if %masked -> (vector<128xi32>) {
        %r = arith.addi %w, %w : vector<128xi32>
        scf.yield %r : vector<128xi32>
      } else {
        %r = arith.muli %w, %w : vector<128xi32>
        scf.yield %r : vector<128xi32>
      }
      llvm.store %y, %to : vector<128xi32>, !llvm.ptr<3>
    }
    gpu.return
  }
}
