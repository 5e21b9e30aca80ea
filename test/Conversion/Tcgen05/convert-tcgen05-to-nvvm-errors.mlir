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

// -----

// A kernel and the functions that it calls have one.

llvm.func @far(%t: !llvm.ptr<6>) {
  // expected-error@+1 {{expected 'cta_group' of 1, that of the other ops of @kernel and of the functions that it calls, got 2; a kernel has one CTA group}}
  tcgen05.shift %t {cta_group = 2 : i32} : !llvm.ptr<6>
  llvm.return
}

llvm.func @near(%t: !llvm.ptr<6>) {
  llvm.call @far(%t) : (!llvm.ptr<6>) -> ()
  llvm.call @near(%t) : (!llvm.ptr<6>) -> ()
  llvm.return
}

llvm.func @kernel(%t: !llvm.ptr<6>) {
  // expected-note@+1 {{the first op is here}}
  tcgen05.shift %t : !llvm.ptr<6>
  llvm.call @near(%t) : (!llvm.ptr<6>) -> ()
  llvm.return
}

// -----

// Nor may two functions differ that a kernel without ops calls.

llvm.func @pair(%t: !llvm.ptr<6>) {
  // expected-note@+1 {{the first op is here}}
  tcgen05.shift %t {cta_group = 2 : i32} : !llvm.ptr<6>
  llvm.return
}

llvm.func @single(%t: !llvm.ptr<6>) {
  // expected-error@+1 {{expected 'cta_group' of 2, that of the other ops of @caller and of the functions that it calls, got 1}}
  tcgen05.shift %t : !llvm.ptr<6>
  llvm.return
}

llvm.func @caller(%t: !llvm.ptr<6>) {
  llvm.call @pair(%t) : (!llvm.ptr<6>) -> ()
  llvm.call @single(%t) : (!llvm.ptr<6>) -> ()
  llvm.return
}

// -----

gpu.module @without [#nvvm.target<chip = "sm_100a">] {
  llvm.func @reduce(%t: !llvm.ptr<6>) {
    // expected-error@+1 {{expected a target that has tcgen05.ld.red, one of sm_101a, sm_103a, sm_103f, sm_110a, got sm_100a; use 'tcgen05.ld' and reduce the registers}}
    %v, %m = tcgen05.ld_red max shape_32x32b %t of f32 : !llvm.ptr<6> -> vector<2xi32>
    llvm.return
  }
}

// -----

gpu.module @with [#nvvm.target<chip = "sm_110a">] {
  llvm.func @reduce(%t: !llvm.ptr<6>) {
    %v, %m = tcgen05.ld_red max shape_32x32b %t of f32 : !llvm.ptr<6> -> vector<2xi32>
    llvm.return
  }
}

// -----

// LLVM would end the process.
gpu.module @old [#nvvm.target<chip = "sm_100a", features = "+ptx86">] {
  llvm.func @scaled(%d: !llvm.ptr<6>, %a: i64, %p: i1) {
    // expected-error@+1 {{expected a target with features = "+ptx88" or of a later PTX for scale factors, got "+ptx86"}}
    tcgen05.mma mxf8f6f4 %d, %a, %a accumulate %p scales %d, %d shape 128 x 64 of f8E4M3FN, f8E4M3FN to f32
        {block = 32 : i32, scale_type = f8E8M0FNU} : i64
    llvm.return
  }
}

// -----

gpu.module @new [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  llvm.func @scaled(%d: !llvm.ptr<6>, %a: i64, %p: i1) {
    tcgen05.mma mxf8f6f4 %d, %a, %a accumulate %p scales %d, %d shape 128 x 64 of f8E4M3FN, f8E4M3FN to f32
        {block = 32 : i32, scale_type = f8E8M0FNU} : i64
    llvm.return
  }
}
