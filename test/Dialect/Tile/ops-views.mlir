// Views: each parses, prints and comes back from its own text, from the generic form and from bytecode.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --verify-roundtrip -o /dev/null
// RUN: fmha-opt %s | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --mlir-print-op-generic | fmha-opt | FileCheck %s
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

!tensor = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>
!dynamic = memref<?x?x?x?xf16>
!lse = memref<?x?x?xf32, strided<[?, ?, ?]>>

// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[T:[^:]*]]: memref<{{.*}}>, %[[D:[^:]*]]: memref<?x?x?x?xf16>, %[[B:[^:]*]]: index, %[[H:[^:]*]]: index, %[[N:[^:]*]]: index, %[[S:[^:]*]]: index, %[[C:[^:]*]]: i1
func.func @rows(%t: !tensor, %d: !dynamic, %b: index, %h: index, %n: index, %s: index, %c: i1) {
  // CHECK: tile.view %[[T]] batch %[[B]] head %[[H]] rows %[[N]] : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> -> <?x64xbf16>
  %0 = tile.view %t batch %b head %h rows %n : !tensor -> !tile.view<?x64xbf16>
  // CHECK: tile.view %{{.*}} rows %[[N]] from %[[S]] : {{.*}} -> <?x64xbf16>
  %1 = tile.view %t batch %b head %h rows %n from %s : !tensor -> !tile.view<?x64xbf16>
  // CHECK: tile.view %{{.*}} rows %[[N]] column %[[S]] : {{.*}} -> <?x64xbf16>
  %2 = tile.view %t batch %b head %h rows %n column %s : !tensor -> !tile.view<?x64xbf16>
  // CHECK: tile.view %{{.*}} rows %[[N]] from %[[S]] column %[[H]] : {{.*}} -> <?x64xbf16>
  %3 = tile.view %t batch %b head %h rows %n from %s column %h : !tensor -> !tile.view<?x64xbf16>
  // CHECK: tile.view %[[T]] or %[[T]] : memref<{{.*}}> if %[[C]] batch %[[B]] head %[[H]] rows %[[N]] : memref
  %4 = tile.view %t or %t : !tensor if %c batch %b head %h rows %n : !tensor -> !tile.view<?x64xbf16>
  // CHECK: tile.view %[[D]] {{.*}} -> <?x?xf16>
  %5 = tile.view %d batch %b head %h rows %n : !dynamic -> !tile.view<?x?xf16>
  return
}

// CHECK-LABEL: func.func @pages
// CHECK-SAME: %[[T:[^:]*]]: memref<{{.*}}>, %[[L:[^:]*]]: memref<?xi32>, %[[E:[^:]*]]: index, %[[H:[^:]*]]: index, %[[N:[^:]*]]: index
func.func @pages(%t: memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>>, %list: memref<?xi32>, %e: index, %h: index, %n: index) {
  // CHECK: tile.view %[[T]] pages %[[L]][%[[E]]] head %[[H]] rows %[[N]] : memref<?x16x?x64xbf16, {{.*}}>, memref<?xi32> -> <?x64xbf16>
  %0 = tile.view %t pages %list[%e] head %h rows %n : memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>>, memref<?xi32> -> !tile.view<?x64xbf16>
  return
}

// Rows that a list names, of a batch and in pages.
// CHECK-LABEL: func.func @lists
// CHECK-SAME: %[[T:[^:]*]]: memref<{{[^%]*}}, %[[P:[^:]*]]: memref<{{[^%]*}}, %[[L:[^:]*]]: memref<?xi32>, %[[E:[^:]*]]: index, %[[H:[^:]*]]: index, %[[N:[^:]*]]: index
func.func @lists(%t: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %p: memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>>, %list: memref<?xi32>,
                 %e: index, %h: index, %n: index) {
  // CHECK: %[[R:.*]] = tile.list_length %[[L]][%[[E]]] to %[[N]] : memref<?xi32>
  %r = tile.list_length %list[%e] to %n : memref<?xi32>
  // CHECK: tile.view %[[T]] list %[[L]][%[[E]]] below %[[N]] : memref<?xi32> batch %[[H]] head %[[H]] rows %[[R]] : memref<?x?x?x64xbf16, {{.*}}> -> <?x64xbf16>
  %0 = tile.view %t list %list[%e] below %n : memref<?xi32> batch %h head %h rows %r : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> -> !tile.view<?x64xbf16>
  // CHECK: tile.view %[[P]] pages %[[L]][%[[N]]] list %[[L]][%[[E]]] below %[[N]] : memref<?xi32> head %[[H]] rows %[[R]] : memref<?x16x?x64xbf16, {{.*}}>, memref<?xi32> -> <?x64xbf16>
  %1 = tile.view %p pages %list[%n] list %list[%e] below %n : memref<?xi32> head %h rows %r : memref<?x16x?x64xbf16, strided<[?, ?, ?, 1]>>, memref<?xi32> -> !tile.view<?x64xbf16>
  return
}

// CHECK-LABEL: func.func @entries
// CHECK-SAME: %[[L:[^:]*]]: memref<?xi32>, %[[I:[^:]*]]: index, %[[C:[^:]*]]: i1
func.func @entries(%list: memref<?xi32>, %i: index, %c: i1) -> index {
  // CHECK: %{{.*}} = tile.list_entry %[[L]][%[[I]]] if %[[C]] : memref<?xi32>
  %n = tile.list_entry %list[%i] if %c : memref<?xi32>
  return %n : index
}

// CHECK-LABEL: func.func @slots
// CHECK-SAME: %[[L:[^:]*]]: memref<?xi32>, %[[N:[^:]*]]: index, %[[I:[^:]*]]: index
func.func @slots(%lens: memref<?xi32>, %n: index, %i: index) -> (index, index, index) {
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = tile.find_slot %[[L]][%[[I]]] of %[[N]] splits 4 keys 64 : memref<?xi32>
  %b, %part, %parts = tile.find_slot %lens[%i] of %n splits 4 keys 64 : memref<?xi32>
  return %b, %part, %parts : index, index, index
}

// CHECK-LABEL: func.func @append
// CHECK-SAME: %[[KN:[^:]*]]: memref<{{[^%]*}}, %[[VN:[^:]*]]: memref<{{[^%]*}}, %[[K:[^:]*]]: memref<{{[^%]*}}, %[[V:[^:]*]]: memref<{{[^%]*}}, %[[T:[^:]*]]: memref<?xi32>, %[[I:[^:]*]]: index, %[[N:[^:]*]]: index
func.func @append(%kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x32xbf16>, %k: memref<?x16x?x64xbf16>, %v: memref<?x16x?x32xbf16>, %t: memref<?xi32>,
                  %i: index, %n: index) {
  // CHECK: tile.append_rows %[[KN]], %[[VN]][%[[I]]] to %[[K]], %[[V]] head %[[I]] from %[[I]] to %[[N]] before %[[N]] : memref<?x?x?x64xbf16>, memref<?x?x?x32xbf16>, memref<?x16x?x64xbf16>, memref<?x16x?x32xbf16>
  tile.append_rows %kn, %vn[%i] to %k, %v head %i from %i to %n before %n : memref<?x?x?x64xbf16>, memref<?x?x?x32xbf16>, memref<?x16x?x64xbf16>, memref<?x16x?x32xbf16>
  // CHECK: tile.append_rows %[[KN]], %[[VN]][%[[I]]] to %[[K]], %[[V]] pages %[[T]][%[[N]]] : memref<?xi32> head %[[I]] from %[[I]] to %[[N]] before %[[N]] :
  tile.append_rows %kn, %vn[%i] to %k, %v pages %t[%n] : memref<?xi32> head %i from %i to %n before %n : memref<?x?x?x64xbf16>, memref<?x?x?x32xbf16>, memref<?x16x?x64xbf16>, memref<?x16x?x32xbf16>
  return
}

// CHECK-LABEL: func.func @rotary
func.func @rotary(%q: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x32xbf16>,
                  %kn: memref<?x?x?x64xbf16>, %vn: memref<?x?x?x32xbf16>, %cos: memref<?x32xf32>, %sin: memref<?x32xf32>, %i: index, %n: index) {
  // CHECK: tile.append_rows %{{.*}} rotary %[[C:.*]], %[[S:.*]] : memref<?x32xf32>, memref<?x32xf32> head
  tile.append_rows %kn, %vn[%i] to %k, %v rotary %cos, %sin : memref<?x32xf32>, memref<?x32xf32> head %i from %i to %n before %n : memref<?x?x?x64xbf16>, memref<?x?x?x32xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x32xbf16>
  // CHECK: tile.append_rows %{{.*}} rotary %[[C]], %[[S]] : memref<?x32xf32>, memref<?x32xf32> interleaved head
  tile.append_rows %kn, %vn[%i] to %k, %v rotary %cos, %sin : memref<?x32xf32>, memref<?x32xf32> interleaved head %i from %i to %n before %n : memref<?x?x?x64xbf16>, memref<?x?x?x32xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x32xbf16>
  %0 = tile.view %q batch %i head %i rows %n : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>, #gpu.address_space<global>> -> !tile.view<?x64xbf16>
  // CHECK: tile.load_rotated %{{.*}}[%{{.*}}] at %{{.*}} by %[[C]], %[[S]] : <?x64xbf16>, memref<?x32xf32>, memref<?x32xf32> -> <64x64xbf16>
  %1 = tile.load_rotated %0[%i] at %n by %cos, %sin : !tile.view<?x64xbf16>, memref<?x32xf32>, memref<?x32xf32> -> !tile.tile<64x64xbf16>
  // CHECK: tile.load_rotated %{{.*}}[%{{.*}}] at %{{.*}} by %[[C]], %[[S]] interleaved :
  %2 = tile.load_rotated %0[%i] at %n by %cos, %sin interleaved : !tile.view<?x64xbf16>, memref<?x32xf32>, memref<?x32xf32> -> !tile.tile<64x64xbf16>
  return
}

// CHECK-LABEL: func.func @numbers
func.func @numbers(%l: !lse, %sinks: memref<?xf32>, %b: index, %h: index, %n: index, %s: index) {
  // CHECK: tile.view %{{.*}} batch %{{.*}} head %{{.*}} rows %{{.*}} from %{{.*}} : memref<?x?x?xf32, {{.*}}> -> <?xf32>
  %0 = tile.view %l batch %b head %h rows %n from %s : !lse -> !tile.view<?xf32>
  // CHECK: tile.view %{{.*}} head %{{.*}} : memref<?xf32> -> <f32>
  %1 = tile.view %sinks head %h : memref<?xf32> -> !tile.view<f32>
  return
}

// CHECK-LABEL: func.func @packed
func.func @packed(%t: !tensor, %l: !lse, %sinks: memref<?xf32>, %b: index, %h: index, %n: index, %g: index) {
  // CHECK: tile.view %{{.*}} batch %{{.*}} head %{{.*}} of %{{.*}} group %{{.*}}, %{{.*}} rows %{{.*}} : memref<{{.*}}> -> <?x64xbf16, heads = 16>
  %0 = tile.view %t batch %b head %h of %n group %g, %h rows %n : !tensor -> !tile.view<?x64xbf16, heads = 16>
  // CHECK: tile.view %{{.*}} batch %{{.*}} head %{{.*}} of %{{.*}} rows %{{.*}} : memref<{{.*}}> -> <?xf32, heads = 2>
  %1 = tile.view %l batch %b head %h of %n rows %n : !lse -> !tile.view<?xf32, heads = 2>
  // CHECK: tile.view %{{.*}} head %{{.*}} of %{{.*}} : memref<?xf32> -> <f32, heads = 4>
  %2 = tile.view %sinks head %h of %n : memref<?xf32> -> !tile.view<f32, heads = 4>
  return
}

// Roles take views from above, and a loop makes its own where the source is one of two.
// CHECK-LABEL: func.func @roles
func.func @roles(%t: !tensor, %b: index, %h: index, %n: index, %zero: index, %one: index) {
  // CHECK: %[[KEYS:.*]] = tile.view
  %keys = tile.view %t batch %b head %h rows %n : !tensor -> !tile.view<?x64xbf16>
  tile.warp_specialize {
    tile.role "load" warps 12 to 13 registers 48 {
      scf.for %j = %zero to %n step %one {
        // CHECK: scf.for %[[J:.*]] =
        // CHECK-NEXT: tile.load %[[KEYS]][%[[J]]] : <?x64xbf16> -> <128x64xbf16>
        %0 = tile.load %keys[%j] : !tile.view<?x64xbf16> -> !tile.tile<128x64xbf16>
        %second = arith.cmpi sge, %j, %n : index
        // CHECK: %[[EITHER:.*]] = tile.view %{{.*}} or %{{.*}} if
        %either = tile.view %t or %t : !tensor if %second batch %b head %h rows %n : !tensor -> !tile.view<?x64xbf16>
        // CHECK-NEXT: tile.load %[[EITHER]][%[[J]]]
        %1 = tile.load %either[%j] : !tile.view<?x64xbf16> -> !tile.tile<128x64xbf16>
      }
    }
  }
  return
}
