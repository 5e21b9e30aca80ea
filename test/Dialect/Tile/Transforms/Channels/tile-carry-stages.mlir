// Stages and parities that loops carry instead of dividing numbers of messages.

// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-carry-stages)))' | FileCheck %s
// A second time there is nothing to carry.
// RUN: fmha-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-carry-stages,tile-carry-stages)))' | FileCheck %s

gpu.module @kernels {
  // Messages 2i and 2i + 1 of a ring of five stages, from message %sent on; the second one is released in a branch.
  // CHECK-LABEL: gpu.func @two_messages
  // CHECK-SAME: (%[[N:.*]]: index, %[[SENT:.*]]: index, %[[IF:.*]]: i1)
  gpu.func @two_messages(%n: index, %sent: index, %if: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %full = tile.barrier "kv.full" at 1024 arrivals 1 : !tile.barrier<5>
    %free = tile.barrier "kv.free" at 1064 arrivals 1 : !tile.barrier<5>
    // The position of the first message: that of number %sent.
    // CHECK-DAG: %[[STAGE0:.*]] = arith.remui %{{.*}}, %{{.*}} : index
    // CHECK-DAG: %[[ROUND0:.*]] = arith.divui %{{.*}}, %{{.*}} : index
    // CHECK: %[[PARITY0:.*]] = arith.andi %[[ROUND0]], %{{.*}} : index
    // CHECK: scf.for %{{.*}} = %c0 to %[[N]] step %c1 iter_args(%[[STAGE:.*]] = %[[STAGE0]], %[[PARITY:.*]] = %[[PARITY0]]) -> (index, index)
    scf.for %i = %c0 to %n step %c1 {
      %twice = arith.muli %i, %c2 : index
      %k = arith.addi %sent, %twice : index
      %v = arith.addi %k, %c1 : index
      %k_round = arith.divui %k, %c5 : index
      %k_parity = arith.andi %k_round, %c1 : index
      %k_stage = arith.remui %k, %c5 : index
      // CHECK: tile.wait %{{.*}}[%[[STAGE]]] parity %[[PARITY]] : <5>
      tile.wait %full[%k_stage] parity %k_parity : !tile.barrier<5>
      %v_round = arith.divui %v, %c5 : index
      %v_parity = arith.andi %v_round, %c1 : index
      %v_other = arith.xori %v_parity, %c1 : index
      %v_stage = arith.remui %v, %c5 : index
      // CHECK: %[[NEXT:.*]] = arith.addi %[[STAGE]], %c1{{.*}} : index
      // CHECK: %[[WRAPS:.*]] = arith.cmpi uge, %[[NEXT]], %c5{{.*}} : index
      // CHECK: %[[WRAPPED:.*]] = arith.subi %[[NEXT]], %c5{{.*}} : index
      // CHECK: %[[OTHER:.*]] = arith.xori %[[PARITY]], %c1{{.*}} : index
      // CHECK: %[[V_STAGE:.*]] = arith.select %[[WRAPS]], %[[WRAPPED]], %[[NEXT]] : index
      // CHECK: %[[V_PARITY:.*]] = arith.select %[[WRAPS]], %[[OTHER]], %[[PARITY]] : index
      // CHECK: %[[V_OTHER:.*]] = arith.xori %[[V_PARITY]], %c1{{.*}} : index
      // CHECK: tile.wait %{{.*}}[%[[V_STAGE]]] parity %[[V_OTHER]] : <5>
      tile.wait %full[%v_stage] parity %v_other : !tile.barrier<5>
      // CHECK: scf.if %[[IF]]
      scf.if %if {
        %again = arith.remui %v, %c5 : index
        // CHECK-NEXT: tile.arrive %{{.*}}[%[[V_STAGE]]]
        tile.arrive %free[%again] : !tile.barrier<5>
      }
      // Two messages later.
      // CHECK: %[[MOVED:.*]] = arith.addi %[[STAGE]], %c2{{.*}} : index
      // CHECK: %[[END:.*]] = arith.cmpi uge, %[[MOVED]], %c5{{.*}} : index
      // CHECK: scf.yield %{{.*}}, %{{.*}} : index, index
    }
    gpu.return
  }

  // An iteration has seven messages: two rounds of three and one more, so that the parity stays unless the stage wraps.
  // CHECK-LABEL: gpu.func @more_than_a_round
  gpu.func @more_than_a_round(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c7 = arith.constant 7 : index
    %full = tile.barrier "kv.full" at 1024 arrivals 1 : !tile.barrier<3>
    // CHECK: scf.for {{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}, %[[PARITY:.*]] = %{{.*}})
    scf.for %i = %c0 to %n step %c1 {
      %m = arith.muli %i, %c7 : index
      %late = arith.addi %m, %c3 : index
      %stage = arith.remui %m, %c3 : index
      %round = arith.divui %late, %c3 : index
      %parity = arith.andi %round, %c1 : index
      // Three messages later the stage is the same, in the next round.
      // CHECK: %[[OTHER:.*]] = arith.xori %[[PARITY]], %c1{{.*}} : index
      // CHECK: tile.wait %{{.*}}[%[[STAGE]]] parity %[[OTHER]]
      tile.wait %full[%stage] parity %parity : !tile.barrier<3>
      // CHECK-NOT: arith.xori
      // CHECK: arith.addi %[[STAGE]], %c1{{.*}} : index
      // CHECK: scf.yield
    }
    gpu.return
  }

  // The last bits of a number are the stage of a ring of four.
  // CHECK-LABEL: gpu.func @power_of_two
  gpu.func @power_of_two(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %full = tile.barrier "kv.full" at 1024 arrivals 1 : !tile.barrier<4>
    // CHECK-NOT: iter_args
    scf.for %i = %c0 to %n step %c1 {
      %stage = arith.remui %i, %c4 : index
      tile.wait %full[%stage] parity %c0 : !tile.barrier<4>
    }
    gpu.return
  }

  // Numbers that are not used in each iteration may be negative in others: -1 here.
  // CHECK-LABEL: gpu.func @only_in_branches
  gpu.func @only_in_branches(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %free = tile.barrier "kv.free" at 1024 arrivals 1 : !tile.barrier<3>
    // CHECK-NOT: iter_args
    scf.for %i = %c0 to %n step %c1 {
      %later = arith.cmpi ugt, %i, %c0 : index
      scf.if %later {
        %m = arith.subi %i, %c1 : index
        %stage = arith.remui %m, %c3 : index
        tile.arrive %free[%stage] : !tile.barrier<3>
      }
    }
    gpu.return
  }

  // The use of message i - 1 in a branch stays as it is, that of message i is carried.
  // CHECK-LABEL: gpu.func @earlier_in_a_branch
  gpu.func @earlier_in_a_branch(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %full = tile.barrier "kv.full" at 1024 arrivals 1 : !tile.barrier<3>
    %free = tile.barrier "kv.free" at 1048 arrivals 1 : !tile.barrier<3>
    // CHECK: scf.for {{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
    scf.for %i = %c0 to %n step %c1 {
      %stage = arith.remui %i, %c3 : index
      // CHECK: tile.wait %{{.*}}[%[[STAGE]]]
      tile.wait %full[%stage] parity %c0 : !tile.barrier<3>
      %later = arith.cmpi ugt, %i, %c0 : index
      scf.if %later {
        %m = arith.subi %i, %c1 : index
        // CHECK: %[[EARLIER:.*]] = arith.remui
        %earlier = arith.remui %m, %c3 : index
        // CHECK: tile.arrive %{{.*}}[%[[EARLIER]]]
        tile.arrive %free[%earlier] : !tile.barrier<3>
      }
    }
    gpu.return
  }

  // Numbers that do not grow by a constant, and rounds that are used as such.
  // CHECK-LABEL: gpu.func @others
  gpu.func @others(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %full = tile.barrier "kv.full" at 1024 arrivals 1 : !tile.barrier<3>
    // CHECK-NOT: iter_args
    scf.for %i = %c0 to %n step %c1 {
      %square = arith.muli %i, %i : index
      %stage = arith.remui %square, %c3 : index
      %round = arith.divui %i, %c3 : index
      tile.wait %full[%stage] parity %round : !tile.barrier<3>
    }
    gpu.return
  }

  // A number that the loop carries, and one that begins below 0 and is used in a branch only.
  // CHECK-LABEL: gpu.func @carried_and_below_zero
  gpu.func @carried_and_below_zero(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %full = tile.barrier "kv.full" at 1024 arrivals 1 : !tile.barrier<3>
    // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %c0) -> (index)
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%m = %c0) -> (index) {
      %stage = arith.remui %m, %c3 : index
      tile.wait %full[%stage] parity %c0 : !tile.barrier<3>
      %before = arith.subi %i, %c1 : index
      %early = arith.remui %before, %c3 : index
      %later = arith.cmpi ugt, %i, %c0 : index
      scf.if %later {
        tile.wait %full[%early] parity %c0 : !tile.barrier<3>
      }
      %next = arith.addi %m, %c1 : index
      scf.yield %next : index
    }
    gpu.return
  }
}
