// RUN: fmha-opt %s --split-input-file --verify-diagnostics --fmha-report-asserts

// expected-error @below {{expected @mgpuFmhaFail, which failed assertions call, to be an llvm.func of type '!llvm.func<void (ptr)>', got llvm.func of type '!llvm.func<void (i32)>'; rename it}}
llvm.func @mgpuFmhaFail(i32)
func.func @other_type(%a: i1) {
  cf.assert %a, "text"
  return
}

// -----

// expected-error @below {{got func.func; rename it}}
func.func private @mgpuFmhaFail(!llvm.ptr)
func.func @other_function(%a: i1) {
  cf.assert %a, "text"
  return
}

// -----

// expected-error @below {{got memref.global; rename it}}
memref.global "private" @mgpuFmhaFail : memref<4xf32>
func.func @no_function(%a: i1) {
  cf.assert %a, "text"
  return
}

// -----

// Nothing is called, so the name is free.
func.func private @mgpuFmhaFail(i32)

// -----

// A declaration of the right type is used.
llvm.func @mgpuFmhaFail(!llvm.ptr)
func.func @declared(%a: i1) {
  cf.assert %a, "text"
  return
}
