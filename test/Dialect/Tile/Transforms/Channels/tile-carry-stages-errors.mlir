// What tile-carry-stages leaves alone, and what it does not mend: tile-verify-sync rejects a wrong parity that a loop carries.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-carry-stages,tile-verify-sync)))' -o /dev/null
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-carry-stages)))' | FileCheck %s

// One thread arrives at a ring of three and waits for its own arrival: the parity of message i is that of round i / 3.
#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @right_parity {
  // The barrier is used as it must be: all that is missing are the registers of roles.
  // CHECK-LABEL: gpu.func @right_parity
  // expected-error@+1 {{expected tile.set_registers 216 from 128 in the warpgroup of role "softmax0"}}
  gpu.func @right_parity(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %b = tile.barrier "b" at 65536 arrivals 1 : !tile.barrier<3>
    %thread = gpu.thread_id x
    %first = arith.cmpi eq, %thread, %c0 : index
    scf.if %first {
      tile.init_barrier %b arrivals 1 : !tile.barrier<3>
      tile.fence mbarrier_init
      // CHECK: scf.for {{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}, %[[PARITY:.*]] = %{{.*}})
      scf.for %i = %c0 to %c8 step %c1 {
        %stage = arith.remui %i, %c3 : index
        %round = arith.divui %i, %c3 : index
        %parity = arith.andi %round, %c1 : index
        tile.arrive %b[%stage] : !tile.barrier<3>
        // CHECK: tile.wait %{{.*}}[%[[STAGE]]] parity %[[PARITY]]
        tile.wait %b[%stage] parity %parity : !tile.barrier<3>
      }
    }
    gpu.return
  }
}

// -----

#schedule = #fmha.schedule<target = "sm_100a", q_tiles = 1, kv_stages = 3, p_placement = tmem, roles = [
  #fmha.role<"softmax0", first_warp = 0, warps = 4, registers = 216>, #fmha.role<"softmax1", first_warp = 4, warps = 4, registers = 24>,
  #fmha.role<"correction", first_warp = 8, warps = 4, registers = 136>, #fmha.role<"load", first_warp = 12, warps = 1, registers = 136>,
  #fmha.role<"mma", first_warp = 13, warps = 1, registers = 136>, #fmha.role<"store", first_warp = 14, warps = 1, registers = 136>,
  #fmha.role<"spare", first_warp = 15, warps = 1, registers = 136>]>
!t = memref<?x?x?x64xbf16>
gpu.module @other_parity {
  // The parity of the message after this one, which differs in the last stage of a round.
  // CHECK-LABEL: gpu.func @other_parity
  gpu.func @other_parity(%q: !t, %k: !t, %v: !t, %o: !t) kernel attributes {fmha.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %b = tile.barrier "b" at 65536 arrivals 1 : !tile.barrier<3>
    %thread = gpu.thread_id x
    %first = arith.cmpi eq, %thread, %c0 : index
    scf.if %first {
      tile.init_barrier %b arrivals 1 : !tile.barrier<3>
      tile.fence mbarrier_init
      // CHECK: scf.for {{.*}} iter_args
      scf.for %i = %c0 to %c8 step %c1 {
        %next = arith.addi %i, %c1 : index
        %stage = arith.remui %i, %c3 : index
        %round = arith.divui %next, %c3 : index
        %parity = arith.andi %round, %c1 : index
        // expected-error@+1 {{Y3: may signal barrier "b[2]" before its phase 0 is complete}}
        tile.arrive %b[%stage] : !tile.barrier<3>
        // expected-error@+1 {{Y4: may sleep through phase 0 of barrier "b[2]"}}
        tile.wait %b[%stage] parity %parity : !tile.barrier<3>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @left_alone {
  // The loop does not know its step.
  // CHECK-LABEL: gpu.func @any_step
  // CHECK-NOT: iter_args
  gpu.func @any_step(%n: index, %step: index, %full: !tile.barrier<3>) kernel {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %n step %step {
      %stage = arith.remui %i, %c3 : index
      tile.arrive %full[%stage] : !tile.barrier<3>
    }
    gpu.return
  }

  // Numbers that fall: the position moves back.
  // CHECK-LABEL: gpu.func @falling
  // CHECK-NOT: iter_args
  gpu.func @falling(%n: index, %full: !tile.barrier<3>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %n step %c1 {
      %m = arith.subi %n, %i : index
      %stage = arith.remui %m, %c3 : index
      tile.arrive %full[%stage] : !tile.barrier<3>
    }
    gpu.return
  }

  // The number of stages is not known.
  // CHECK-LABEL: gpu.func @any_depth
  // CHECK-NOT: iter_args
  gpu.func @any_depth(%n: index, %depth: index, %full: !tile.barrier<3>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %stage = arith.remui %i, %depth : index
      tile.arrive %full[%stage] : !tile.barrier<3>
    }
    gpu.return
  }

  // The first number is -1, in every iteration.
  // CHECK-LABEL: gpu.func @below_zero
  // CHECK-NOT: iter_args
  gpu.func @below_zero(%n: index, %full: !tile.barrier<3>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %n step %c1 {
      %m = arith.subi %i, %c1 : index
      %stage = arith.remui %m, %c3 : index
      tile.arrive %full[%stage] : !tile.barrier<3>
    }
    gpu.return
  }

  // A remainder of 32 bits is no stage, and a round that is used as such stays.
  // CHECK-LABEL: gpu.func @other_numbers
  // CHECK-NOT: iter_args
  gpu.func @other_numbers(%n: index, %full: !tile.barrier<3>, %to: memref<4xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %three = arith.constant 3 : i32
    scf.for %i = %c0 to %n step %c1 {
      %narrow = arith.index_cast %i : index to i32
      %rest = arith.remui %narrow, %three : i32
      %round = arith.divui %i, %c3 : index
      memref.store %rest, %to[%round] : memref<4xi32>
    }
    gpu.return
  }
}
