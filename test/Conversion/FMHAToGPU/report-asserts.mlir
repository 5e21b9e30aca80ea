// RUN: fmha-opt %s --fmha-report-asserts --canonicalize | FileCheck %s

// CHECK:       llvm.func @mgpuFmhaFail(!llvm.ptr)
// CHECK-LABEL: func.func @two
// CHECK-SAME:    %[[A:[a-z0-9]+]]: i1, %[[B:[a-z0-9]+]]: i1
// CHECK-DAG:     %[[FIRST:.*]] = llvm.mlir.addressof @fmha_assert :
// CHECK-DAG:     %[[SECOND:.*]] = llvm.mlir.addressof @fmha_assert_0 :
// CHECK:         cf.cond_br %[[A]], ^[[NEXT:.*]], ^[[FAILED:.*]]
// CHECK:       ^[[FAILED]]:
// CHECK:         llvm.call @mgpuFmhaFail(%[[FIRST]])
// CHECK-NEXT:    llvm.unreachable
// CHECK:       ^[[NEXT]]:
// CHECK:         cf.cond_br %[[B]],
// CHECK:         llvm.call @mgpuFmhaFail(%[[SECOND]])
// CHECK-NEXT:    llvm.unreachable
// CHECK-NOT:     cf.assert
func.func @two(%a: i1, %b: i1) {
  cf.assert %a, "first"
  cf.assert %b, "second"
  return
}

// An assertion in structured control flow is left to a later run.
// CHECK-LABEL: func.func @structured
// CHECK:         scf.if
// CHECK:           cf.assert
func.func @structured(%a: i1, %b: i1) {
  scf.if %a {
    cf.assert %b, "inside"
  }
  return
}

// CHECK: llvm.mlir.global private constant @fmha_assert("first\00")
// CHECK: llvm.mlir.global private constant @fmha_assert_0("second\00")
