// What views refuse, and the ops that take them.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{a view has rank 0 to 2, got rank 3}}
func.func @type_rank(%v: !tile.view<?x64x64xf16>) { return }

// -----

// expected-error@+1 {{expected ? rows, which are numbers of the run, got 128}}
func.func @type_rows(%v: !tile.view<128x64xf16>) { return }

// -----

// expected-error@+1 {{a view holds f16, bf16, f32 or f8E4M3FN, got 'i8'}}
func.func @type_element(%v: !tile.view<?x64xi8>) { return }

// -----

// expected-error@+1 {{expected a power of two as the number of packed heads, got 3}}
func.func @type_heads(%v: !tile.view<?x64xf16, heads = 3>) { return }

// -----

func.func @rank(%t: memref<?x?xf16>, %i: index) {
  // expected-error@+1 {{expected a memref [batch, length, heads, dim], [batch, heads, length] or [heads] of f16, bf16 or f32, got 'memref<?x?xf16>'}}
  %0 = tile.view %t batch %i head %i rows %i : memref<?x?xf16> -> !tile.view<?xf16>
  return
}

// -----

func.func @element(%t: memref<?x?x?x64xi8>, %i: index) {
  // expected-error@+1 {{expected a memref [batch, length, heads, dim], [batch, heads, length] or [heads] of f16, bf16 or f32, got 'memref<?x?x?x64xi8>'}}
  %0 = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xi8> -> !tile.view<?x64xf16>
  return
}

// -----

func.func @type(%t: memref<?x?x?x64xf16>, %i: index) {
  // expected-error@+1 {{expected '!tile.view<?x64xf16>', the rows of 'memref<?x?x?x64xf16>', got '!tile.view<?x128xf16>'}}
  %0 = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x128xf16>
  return
}

// -----

func.func @no_batch(%t: memref<?x?x?x64xf16>, %i: index) {
  // expected-error@+1 {{expected a batch, got none in '!tile.view<?x64xf16>'}}
  %0 = tile.view %t head %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16>
  return
}

// -----

// A start without a length was an error of tile.load, and is one here.
func.func @start_alone(%t: memref<?x?x?x64xf16>, %i: index) {
  // expected-error@+1 {{expected rows, got none in '!tile.view<?x64xf16>'}}
  %0 = tile.view %t batch %i head %i from %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16>
  return
}

// -----

func.func @list_batch(%t: memref<?xf32>, %i: index) {
  // expected-error@+1 {{expected a batch only in a view of rank 1 or more, got it in '!tile.view<f32>'}}
  %0 = tile.view %t batch %i head %i : memref<?xf32> -> !tile.view<f32>
  return
}

// -----

func.func @list_start(%t: memref<?xf32>, %i: index) {
  // expected-error@+1 {{expected a first row only in a view of rank 1 or more, got it in '!tile.view<f32>'}}
  %0 = tile.view %t head %i from %i : memref<?xf32> -> !tile.view<f32>
  return
}

// -----

func.func @rows_column(%t: memref<?x?x?xf32>, %i: index) {
  // expected-error@+1 {{expected a first column only in a view of rank 2 or more, got it in '!tile.view<?xf32>'}}
  %0 = tile.view %t batch %i head %i rows %i column %i : memref<?x?x?xf32> -> !tile.view<?xf32>
  return
}

// -----

func.func @rows_group(%t: memref<?x?x?xf32>, %i: index) {
  // expected-error@+1 {{expected a group only in a view of rank 2 or more, got it in '!tile.view<?xf32, heads = 2>'}}
  %0 = tile.view %t batch %i head %i of %i group %i, %i rows %i : memref<?x?x?xf32> -> !tile.view<?xf32, heads = 2>
  return
}

// -----

func.func @other(%t: memref<?x?x?x64xf16>, %u: memref<?x?x?x72xf16>, %i: index, %c: i1) {
  // expected-error@+1 {{expected the other tensor to have the type of the first, 'memref<?x?x?x64xf16>', got 'memref<?x?x?x72xf16>'}}
  %0 = tile.view %t or %u : memref<?x?x?x72xf16> if %c batch %i head %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16>
  return
}

// -----

func.func @condition_alone(%t: memref<?x?x?x64xf16>, %i: index, %c: i1) {
  // expected-error@+1 {{expected another tensor and the condition that takes it, or neither, got the condition that takes it alone}}
  %0 = "tile.view"(%t, %c, %i, %i, %i) {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1>}
      : (memref<?x?x?x64xf16>, i1, index, index, index) -> !tile.view<?x64xf16>
  return
}

// -----

func.func @heads_alone(%t: memref<?x?x?x64xf16>, %i: index) {
  // expected-error@+1 {{expected the number of heads and the type of a view that packs some, or neither, got the type alone}}
  %0 = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16, heads = 2>
  return
}

// -----

func.func @count_alone(%t: memref<?xf32>, %i: index) {
  // expected-error@+1 {{expected the number of heads and the type of a view that packs some, or neither, got the number alone}}
  %0 = tile.view %t head %i of %i : memref<?xf32> -> !tile.view<f32>
  return
}

// -----

func.func @member_alone(%t: memref<?x?x?x64xf16>, %i: index) {
  // expected-error@+1 {{expected a KV head and a member of its group, or neither, got a member of its group alone}}
  %0 = "tile.view"(%t, %i, %i, %i, %i, %i) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1>}
      : (memref<?x?x?x64xf16>, index, index, index, index, index) -> !tile.view<?x64xf16, heads = 2>
  return
}

// -----

func.func @group_of_one(%t: memref<?x?x?x64xf16>, %i: index) {
  // expected-error@+1 {{expected a group only of packed heads, got it in '!tile.view<?x64xf16>'}}
  %0 = tile.view %t batch %i head %i group %i, %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16>
  return
}

// -----

func.func @load_argument(%v: !tile.view<?x64xf16>, %i: index) {
  // expected-error@+1 {{expected a view as the result of tile.view, where the op that takes it reads its place, got}}
  %0 = tile.load %v[%i] : !tile.view<?x64xf16> -> !tile.tile<128x64xf16>
  return
}

// -----

func.func @load_rank(%t: memref<?x?x?xf16>, %i: index) {
  %v = tile.view %t batch %i head %i rows %i : memref<?x?x?xf16> -> !tile.view<?xf16>
  // expected-error@+1 {{expected a view of rank 2, got '!tile.view<?xf16>'}}
  %0 = tile.load %v[%i] : !tile.view<?xf16> -> !tile.tile<128x64xf16>
  return
}

// -----

func.func @load_element(%t: memref<?x?x?x64xf16>, %i: index) {
  %v = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16>
  // expected-error@+1 {{expected a tile of 'f16', got 'bf16'}}
  %0 = tile.load %v[%i] : !tile.view<?x64xf16> -> !tile.tile<128x64xbf16>
  return
}

// -----

func.func @load_columns(%t: memref<?x?x?x40xf16>, %i: index) {
  %v = tile.view %t batch %i head %i rows %i : memref<?x?x?x40xf16> -> !tile.view<?x40xf16>
  // expected-error@+1 {{expected at most 48 tile columns, the view's head dim of 40 rounded up to 16, got 64}}
  %0 = tile.load %v[%i] : !tile.view<?x40xf16> -> !tile.tile<128x64xf16>
  return
}

// -----

func.func @store_columns(%t: memref<?x?x?x64xf16>, %i: index, %v: !tile.tile<128x128xf16>) {
  %o = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16>
  // expected-error@+1 {{expected at most 64 tile columns, the view's head dim of 64 rounded up to 16, got 128}}
  tile.store %v, %o[%i] : !tile.tile<128x128xf16>, !tile.view<?x64xf16>
  return
}

// -----

func.func @load_more_than_rows(%t: memref<?x?x?x64xf16>, %i: index) {
  %v = tile.view %t batch %i head %i of %i group %i, %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16, heads = 128>
  // expected-error@+1 {{expected at most as many heads as the tile has rows, 64, got 128}}
  %0 = tile.load %v[%i] : !tile.view<?x64xf16, heads = 128> -> !tile.tile<64x64xf16>
  return
}

// -----

func.func @load_without_group(%t: memref<?x?x?x64xf16>, %i: index) {
  %v = tile.view %t batch %i head %i of %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16, heads = 2>
  // expected-error@+1 {{expected a view that names the group of its packed heads, by which TMA copies, got none}}
  %0 = tile.load %v[%i] : !tile.view<?x64xf16, heads = 2> -> !tile.tile<64x64xf16>
  return
}

// -----

func.func @store_without_group(%t: memref<?x?x?x64xf16>, %i: index, %v: !tile.tile<64x64xf16>) {
  %o = tile.view %t batch %i head %i of %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16, heads = 2>
  // expected-error@+1 {{expected a view that names the group of its packed heads, by which TMA copies, got none}}
  tile.store %v, %o[%i] : !tile.tile<64x64xf16>, !tile.view<?x64xf16, heads = 2>
  return
}

// -----

func.func @write_rank(%t: memref<?x?x?xf32>, %i: index) {
  %o = tile.view %t batch %i head %i rows %i : memref<?x?x?xf32> -> !tile.view<?xf32>
  // expected-error@+1 {{expected a view of rank 2, got '!tile.view<?xf32>'}}
  tile.write as !tile.tile<128x64xf32> to %o[%i] : !tile.view<?xf32>
  return
}

// -----

func.func @store_rows_rank(%t: memref<?x?x?xf32>, %i: index, %v: !tile.tile<128x64xf32>) {
  %l = tile.view %t batch %i head %i rows %i : memref<?x?x?xf32> -> !tile.view<?xf32>
  // expected-error@+1 {{expected one element a row, got '!tile.tile<128x64xf32>'}}
  tile.store_rows %v, %l[%i] : !tile.tile<128x64xf32>, !tile.view<?xf32>
  return
}

// -----

func.func @store_rows_list(%t: memref<?xf32>, %i: index, %v: !tile.tile<128xf32>) {
  %l = tile.view %t head %i : memref<?xf32> -> !tile.view<f32>
  // expected-error@+1 {{expected a view of rank 1, got '!tile.view<f32>'}}
  tile.store_rows %v, %l[%i] : !tile.tile<128xf32>, !tile.view<f32>
  return
}

// -----

func.func @store_rows_element(%t: memref<?x?x?xf16>, %i: index, %v: !tile.tile<128xf32>) {
  %l = tile.view %t batch %i head %i rows %i : memref<?x?x?xf16> -> !tile.view<?xf16>
  // expected-error@+1 {{expected a tile of 'f16', got 'f32'}}
  tile.store_rows %v, %l[%i] : !tile.tile<128xf32>, !tile.view<?xf16>
  return
}

// -----

func.func @store_rows_more_than_rows(%t: memref<?x?x?xf32>, %i: index, %v: !tile.tile<64xf32>) {
  %l = tile.view %t batch %i head %i of %i rows %i : memref<?x?x?xf32> -> !tile.view<?xf32, heads = 128>
  // expected-error@+1 {{expected at most as many heads as the tile has rows, 64, got 128}}
  tile.store_rows %v, %l[%i] : !tile.tile<64xf32>, !tile.view<?xf32, heads = 128>
  return
}

// -----

func.func @load_rows_rank(%t: memref<?x?x?xf32>, %i: index) {
  %l = tile.view %t batch %i head %i rows %i : memref<?x?x?xf32> -> !tile.view<?xf32>
  // expected-error@+1 {{expected a view of rank 0, got '!tile.view<?xf32>'}}
  %0 = tile.load_rows %l by 1.0 : !tile.view<?xf32> -> !tile.tile<128xf32>
  return
}

// -----

func.func @mask_more_than_rows(%s: !tile.tile<64x128xf32>, %t: memref<?x?x?x64xf16>, %i: index) {
  %q = tile.view %t batch %i head %i of %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16, heads = 128>
  %k = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16>
  // expected-error@+1 {{expected at most as many heads as the tile has rows, 64, got 128}}
  %0 = tile.mask %s at %q[%i], %k[%i] : !tile.tile<64x128xf32>, !tile.view<?x64xf16, heads = 128>, !tile.view<?x64xf16>
  return
}

// -----

func.func @mask_packed_keys(%s: !tile.tile<64x128xf32>, %t: memref<?x?x?x64xf16>, %i: index) {
  %q = tile.view %t batch %i head %i of %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16, heads = 2>
  // expected-error@+1 {{expected a view of keys of one head, got '!tile.view<?x64xf16, heads = 2>'}}
  %0 = tile.mask %s at %q[%i], %q[%i] : !tile.tile<64x128xf32>, !tile.view<?x64xf16, heads = 2>, !tile.view<?x64xf16, heads = 2>
  return
}

// -----

func.func @mask_keys_rank(%s: !tile.tile<64x128xf32>, %t: memref<?x?x?x64xf16>, %l: memref<?x?x?xf32>, %i: index) {
  %q = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16>
  %k = tile.view %l batch %i head %i rows %i : memref<?x?x?xf32> -> !tile.view<?xf32>
  // expected-error@+1 {{expected a view of rank 2, got '!tile.view<?xf32>'}}
  %0 = tile.mask %s at %q[%i], %k[%i] : !tile.tile<64x128xf32>, !tile.view<?x64xf16>, !tile.view<?xf32>
  return
}

// -----

func.func @modify_without_head(%s: !tile.tile<128x128xf32>, %t: memref<?x?x?x64xf16>, %i: index) {
  %q = tile.view %t batch %i head %i of %i rows %i : memref<?x?x?x64xf16> -> !tile.view<?x64xf16, heads = 2>
  // expected-error@+1 {{expected a region of ('f32', 'index', 'index', 'index'), got ('f32', 'index', 'index')}}
  %0 = tile.modify %s at %q[%i, %i] : !tile.tile<128x128xf32>, !tile.view<?x64xf16, heads = 2> {
  ^bb0(%e: f32, %row: index, %key: index):
    tile.yield %e : f32
  }
  return
}

// -----

func.func @pages_of_packed_heads(%k: memref<?x64x?x128xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected no packed heads in a view of pages, got one}}
  %v = tile.view %k pages %t[%i] head %i of %i group %i, %i rows %i : memref<?x64x?x128xbf16>, memref<?xi32> -> !tile.view<?x128xbf16, heads = 4>
  return
}

// -----

func.func @pages_of_a_batch(%k: memref<?x64x?x128xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected no batch in a view of pages, got one}}
  %v = tile.view %k pages %t[%i] batch %i head %i rows %i : memref<?x64x?x128xbf16>, memref<?xi32> -> !tile.view<?x128xbf16>
  return
}

// -----

func.func @pages_of_any_size(%k: memref<?x?x?x128xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected pages of a static number of rows, a power of two, in dimension 1 of [page, row, head, dim], got 'memref<?x?x?x128xbf16>'}}
  %v = tile.view %k pages %t[%i] head %i rows %i : memref<?x?x?x128xbf16>, memref<?xi32> -> !tile.view<?x128xbf16>
  return
}

// -----

func.func @pages_with_gaps(%k: memref<?x64x?x128xbf16>, %t: memref<?xi32, strided<[2]>>, %i: index) {
  // expected-error@+1 {{expected a contiguous list of pages, got 'memref<?xi32, strided<[2]>>'}}
  %v = tile.view %k pages %t[%i] head %i rows %i : memref<?x64x?x128xbf16>, memref<?xi32, strided<[2]>> -> !tile.view<?x128xbf16>
  return
}

// -----

func.func @store_to_pages(%k: memref<?x64x?x128xbf16>, %t: memref<?xi32>, %i: index, %x: !tile.tile<128x128xbf16>) {
  %v = tile.view %k pages %t[%i] head %i rows %i : memref<?x64x?x128xbf16>, memref<?xi32> -> !tile.view<?x128xbf16>
  // expected-error@+1 {{expected a view of one tensor, got one of pages, which kernels only read}}
  tile.store %x, %v[%i] : !tile.tile<128x128xbf16>, !tile.view<?x128xbf16>
  return
}

// -----

func.func @list_of_packed_heads(%k: memref<?x?x?x128xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected no packed heads in a view of a list, got one}}
  %v = tile.view %k list %t[%i] below %i : memref<?xi32> batch %i head %i of %i group %i, %i rows %i : memref<?x?x?x128xbf16> -> !tile.view<?x128xbf16, heads = 4>
  return
}

// -----

func.func @list_from_a_row(%k: memref<?x?x?x128xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected no first row in a view of a list, got one}}
  %v = tile.view %k list %t[%i] below %i : memref<?xi32> batch %i head %i rows %i from %i : memref<?x?x?x128xbf16> -> !tile.view<?x128xbf16>
  return
}

// -----

func.func @list_of_two_tensors(%k: memref<?x?x?x128xbf16>, %t: memref<?xi32>, %i: index, %c: i1) {
  // expected-error@+1 {{expected no other tensor in a view of a list, got one}}
  %v = tile.view %k or %k : memref<?x?x?x128xbf16> if %c list %t[%i] below %i : memref<?xi32> batch %i head %i rows %i : memref<?x?x?x128xbf16> -> !tile.view<?x128xbf16>
  return
}

// -----

func.func @list_of_numbers(%l: memref<?x?x?xf32>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected rows of several columns that a list names, got '!tile.view<?xf32>'}}
  %v = tile.view %l list %t[%i] below %i : memref<?xi32> batch %i head %i rows %i : memref<?x?x?xf32> -> !tile.view<?xf32>
  return
}

// -----

func.func @list_with_gaps(%k: memref<?x?x?x128xbf16>, %t: memref<?xi32, strided<[2]>>, %i: index) {
  // expected-error@+1 {{expected a contiguous list of rows, got 'memref<?xi32, strided<[2]>>'}}
  %v = tile.view %k list %t[%i] below %i : memref<?xi32, strided<[2]>> batch %i head %i rows %i : memref<?x?x?x128xbf16> -> !tile.view<?x128xbf16>
  return
}

// -----

func.func @list_without_a_bound(%k: memref<?x?x?x128xbf16>, %t: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected a list and a bound of the entries, or neither, got a list alone}}
  %v = "tile.view"(%k, %t, %i, %i, %i, %i) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1>}
      : (memref<?x?x?x128xbf16>, memref<?xi32>, index, index, index, index) -> !tile.view<?x128xbf16>
  return
}

// -----

func.func @store_to_a_list(%k: memref<?x?x?x128xbf16>, %t: memref<?xi32>, %i: index, %x: !tile.tile<128x128xbf16>) {
  %v = tile.view %k list %t[%i] below %i : memref<?xi32> batch %i head %i rows %i : memref<?x?x?x128xbf16> -> !tile.view<?x128xbf16>
  // expected-error@+1 {{expected a view of one tensor, got one of a list, which kernels only read}}
  tile.store %x, %v[%i] : !tile.tile<128x128xbf16>, !tile.view<?x128xbf16>
  return
}
