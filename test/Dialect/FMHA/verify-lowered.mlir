// RUN: fmha-opt %s --fmha-verify-lowered | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-to-cpu)' | FileCheck %s

// CHECK-LABEL: llvm.func @lowered
// CHECK:         llvm.return
module {
  llvm.func @lowered(%a: i32) -> i32 {
    llvm.return %a : i32
  }
}
