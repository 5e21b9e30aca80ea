// tile.list_entry stays in a loop that may not run: its place may be outside of the list. The addition moves.

// RUN: fmha-opt %s --loop-invariant-code-motion | FileCheck %s

// CHECK-LABEL: func.func @in_loop(
// CHECK: arith.addi
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.list_entry
func.func @in_loop(%list: memref<?xi32>, %place: index, %taken: i1, %n: index, %out: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %next = arith.addi %place, %c1 : index
    %entry = tile.list_entry %list[%next] if %taken : memref<?xi32>
    memref.store %entry, %out[%i] : memref<?xindex>
  }
  return
}
