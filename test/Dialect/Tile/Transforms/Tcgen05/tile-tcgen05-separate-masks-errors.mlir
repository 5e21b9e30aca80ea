// Loops that keep their branch: P has one slice, scores were not loaded or were computed, the condition needs a load, there are two masks, both sides
// compute, too many values live across the loop, or no basic block ends after a slice.

// RUN: fmha-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-tcgen05-separate-masks)))' | FileCheck %s --implicit-check-not=scf.while

#schedule = #fmha.schedule<target = "sm_100a", exp2_emulated = 25, p_slices = 2>
#plain = #fmha.schedule<target = "sm_100a", p_slices = 2>
#reducing = #fmha.schedule<target = "sm_103a", exp2_emulated = 25, p_slices = 2>
gpu.module @kernels {
  // The threads signal nothing that they have stored before further exponentials.
  // CHECK-LABEL: gpu.func @one_slice
  gpu.func @one_slice(%t: !llvm.ptr<6>, %end: index, %masked: i1, %x: f32, %to: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
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
      %last = math.exp2 %x : f32
      llvm.store %last, %to : f32, !llvm.ptr<3>
    }
    gpu.return
  }

  // What is masked was not loaded, or something was computed from it.
  // CHECK-LABEL: gpu.func @branch_first
  gpu.func @branch_first(%t: !llvm.ptr<6>, %end: index, %masked: i1, %row: vector<128xi32>, %x: f32, %to: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %n = %c0 to %end step %c1 {
      %y = scf.if %masked -> (vector<128xi32>) {
        %r = arith.addi %row, %row : vector<128xi32>
        scf.yield %r : vector<128xi32>
      } else {
        scf.yield %row : vector<128xi32>
      }
      %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<128xi32>
      %w = tile.tmem_wait load of %v : vector<128xi32> to vector<128xi32>
      tile.tmem_store %w, %t : vector<128xi32>, !llvm.ptr<6>
      tile.tmem_wait store
      tile.fence tcgen05_before
      tile.arrive %slice[%c0] : !tile.barrier<1>
      %last = math.exp2 %x : f32
      llvm.store %last, %to : f32, !llvm.ptr<3>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @computed_scores
  gpu.func @computed_scores(%t: !llvm.ptr<6>, %end: index, %masked: i1, %x: f32, %to: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %n = %c0 to %end step %c1 {
      %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<128xi32>
      %w = tile.tmem_wait load of %v : vector<128xi32> to vector<128xi32>
      %z = arith.muli %w, %w : vector<128xi32>
      %y = scf.if %masked -> (vector<128xi32>) {
        %r = arith.addi %z, %z : vector<128xi32>
        scf.yield %r : vector<128xi32>
      } else {
        scf.yield %z : vector<128xi32>
      }
      tile.tmem_store %w, %t : vector<128xi32>, !llvm.ptr<6>
      tile.tmem_wait store
      tile.fence tcgen05_before
      tile.arrive %slice[%c0] : !tile.barrier<1>
      %last = math.exp2 %x : f32
      llvm.store %last, %to : f32, !llvm.ptr<3>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @condition_of_load
  gpu.func @condition_of_load(%t: !llvm.ptr<6>, %end: index, %masked: i1, %x: f32, %to: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    scf.for %n = %c0 to %end step %c1 {
      %v = tile.tmem_load %t : !llvm.ptr<6> -> vector<128xi32>
      %w = tile.tmem_wait load of %v : vector<128xi32> to vector<128xi32>
      %first = vector.extract %w[0] : i32 from vector<128xi32>
      %negative = arith.cmpi slt, %first, %zero : i32
      %y = scf.if %negative -> (vector<128xi32>) {
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
    gpu.return
  }

  // CHECK-LABEL: gpu.func @two_masks
  gpu.func @two_masks(%t: !llvm.ptr<6>, %end: index, %masked: i1, %x: f32, %to: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
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
      %z = scf.if %masked -> (vector<128xi32>) {
        %r = arith.muli %w, %w : vector<128xi32>
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
    gpu.return
  }

  // CHECK-LABEL: gpu.func @both_sides
  gpu.func @both_sides(%t: !llvm.ptr<6>, %end: index, %masked: i1, %x: f32, %to: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
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
      tile.tmem_store %w, %t : vector<128xi32>, !llvm.ptr<6>
      tile.tmem_wait store
      tile.fence tcgen05_before
      tile.arrive %slice[%c0] : !tile.barrier<1>
      %last = math.exp2 %x : f32
      llvm.store %last, %to : f32, !llvm.ptr<3>
    }
    gpu.return
  }

  // Six values of a thread that live across the loop, and one block that ends in it, are too many: ptxas would spill.
  // CHECK-LABEL: gpu.func @six_values
  gpu.func @six_values(%t: !llvm.ptr<6>, %end: index, %masked: i1, %x: f32, %to: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %thread = gpu.thread_id x
    %part = arith.divui %end, %c8 : index
    %a = llvm.load %to : !llvm.ptr<3> -> i32
    %b = llvm.load %to : !llvm.ptr<3> -> i32
    %c = llvm.load %to : !llvm.ptr<3> -> i32
    %d = llvm.load %to : !llvm.ptr<3> -> i32
    %e = llvm.load %to : !llvm.ptr<3> -> i32
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
    llvm.store %e, %to : i32, !llvm.ptr<3>
    %sum = arith.addi %thread, %part : index
    %word = arith.index_cast %sum : index to i32
    llvm.store %word, %to : i32, !llvm.ptr<3>
    gpu.return
  }

  // Five values, one block that ends, and a loop around it.
  // CHECK-LABEL: gpu.func @in_loop
  gpu.func @in_loop(%t: !llvm.ptr<6>, %end: index, %masked: i1, %x: f32, %to: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %thread = gpu.thread_id x
    %part = arith.divui %end, %c8 : index
    %a = llvm.load %to : !llvm.ptr<3> -> i32
    %b = llvm.load %to : !llvm.ptr<3> -> i32
    %c = llvm.load %to : !llvm.ptr<3> -> i32
    %d = llvm.load %to : !llvm.ptr<3> -> i32
    scf.for %tile = %c0 to %end step %c1 {
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

  // Five values, and two blocks that end.
  // CHECK-LABEL: gpu.func @two_ends
  gpu.func @two_ends(%t: !llvm.ptr<6>, %end: index, %masked: i1, %x: f32, %to: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #schedule} {
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

  // Without emulated exponentials nothing ends basic blocks, and neither on a target whose loads compute maxima.
  // CHECK-LABEL: gpu.func @not_emulated
  gpu.func @not_emulated(%t: !llvm.ptr<6>, %end: index, %masked: i1, %x: f32, %to: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #plain} {
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
      tile.tmem_store %w, %t : vector<128xi32>, !llvm.ptr<6>
      tile.tmem_wait store
      tile.fence tcgen05_before
      tile.arrive %slice[%c0] : !tile.barrier<1>
      %last = math.exp2 %x : f32
      llvm.store %last, %to : f32, !llvm.ptr<3>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @reducing_loads
  gpu.func @reducing_loads(%t: !llvm.ptr<6>, %end: index, %masked: i1, %x: f32, %to: !llvm.ptr<3>, %slice: !tile.barrier<1>) kernel attributes {fmha.schedule = #reducing} {
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
      tile.tmem_store %w, %t : vector<128xi32>, !llvm.ptr<6>
      tile.tmem_wait store
      tile.fence tcgen05_before
      tile.arrive %slice[%c0] : !tile.barrier<1>
      %last = math.exp2 %x : f32
      llvm.store %last, %to : f32, !llvm.ptr<3>
    }
    gpu.return
  }
}
