// Ops that verify, but that their kernel or its target cannot have.

// RUN: fmha-opt %s --convert-tcgen05-to-nvvm --split-input-file --verify-diagnostics

llvm.func @mixed(%slot: !llvm.ptr<3>, %t: !llvm.ptr<6>) {
  // expected-note@+1 {{the first op is here}}
  tcgen05.alloc 128 to %slot : !llvm.ptr<3>
  tcgen05.wait store
  // expected-error@+1 {{expected 'cta_group' of 1, that of the other ops of this function, got 2; a kernel has one CTA group}}
  tcgen05.dealloc 128 at %t {cta_group = 2 : i32} : !llvm.ptr<6>
  llvm.return
}

// -----

// Each function has its own.

llvm.func @one(%t: !llvm.ptr<6>) {
  tcgen05.shift %t : !llvm.ptr<6>
  llvm.return
}

llvm.func @two(%t: !llvm.ptr<6>) {
  tcgen05.shift %t {cta_group = 2 : i32} : !llvm.ptr<6>
  llvm.return
}
