// Numbers and types that an instruction does not take: counts of an mbarrier, columns of
// tensor memory, boxes of TMA, registers of tcgen05.ld and st and of setmaxnreg.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @no_barriers() {
  // expected-error@+1 {{expected 1 to 29056 mbarriers, got 0}}
  %0 = tile.barrier "b" at 0 arrivals 1 : !tile.barrier<0>
  return
}

// -----

func.func @barrier_offset() {
  // expected-error@+1 {{attribute 'offset' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose maximum value is 232447 whose value is a multiple of 8}}
  %0 = tile.barrier "b" at 1020 arrivals 1 : !tile.barrier<1>
  return
}

// -----

func.func @barrier_negative() {
  // expected-error@+1 {{attribute 'offset' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose maximum value is 232447 whose value is a multiple of 8}}
  %0 = tile.barrier "b" at -8 arrivals 1 : !tile.barrier<1>
  return
}

// -----

func.func @barrier_no_arrivals() {
  // expected-error@+1 {{attribute 'arrivals' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 1 whose maximum value is 1048575}}
  %0 = tile.barrier "b" at 0 arrivals 0 : !tile.barrier<1>
  return
}

// -----

func.func @barrier_arrivals() {
  // expected-error@+1 {{attribute 'arrivals' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 1 whose maximum value is 1048575}}
  %0 = tile.barrier "b" at 0 arrivals 1048576 : !tile.barrier<1>
  return
}

// -----

func.func @init_arrivals(%b: !tile.barrier<1>) {
  // expected-error@+1 {{attribute 'arrivals' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 1 whose maximum value is 1048575}}
  tile.init_barrier %b arrivals 1048576 : !tile.barrier<1>
  return
}

// -----

func.func @expect_negative(%b: !tile.barrier<1>, %i: index) {
  // expected-error@+1 {{attribute 'bytes' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose maximum value is 1048575}}
  tile.arrive_expect_tx %b[%i] bytes -1 : !tile.barrier<1>
  return
}

// -----

func.func @expect_bytes(%b: !tile.barrier<1>, %i: index) {
  // expected-error@+1 {{attribute 'bytes' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose maximum value is 1048575}}
  tile.arrive_expect_tx %b[%i] bytes 1048576 : !tile.barrier<1>
  return
}

// -----

func.func @smem_negative() {
  // expected-error@+1 {{attribute 'offset' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative}}
  %0 = tile.smem_address -16 : !llvm.ptr<3>
  return
}

// -----

func.func @tmem_column(%base: i32) {
  // expected-error@+1 {{attribute 'column' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose maximum value is 511}}
  %0 = tile.tmem_address 512 from %base : !llvm.ptr<6>
  return
}

// -----

func.func @tmem_column_negative(%base: i32) {
  // expected-error@+1 {{attribute 'column' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose maximum value is 511}}
  %0 = tile.tmem_address -1 from %base : !llvm.ptr<6>
  return
}

// -----

func.func @tma_load_column(%t: memref<?x?x?x64xbf16>, %p: !llvm.ptr<3>, %b: !tile.barrier<1>, %i: index) {
  // expected-error@+1 {{attribute 'column' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose value is a multiple of 64}}
  tile.tma_load %t[%i, %i, %i] column 32 to %p signals %b[%i] : memref<?x?x?x64xbf16>, !llvm.ptr<3>, !tile.barrier<1>
  return
}

// -----

func.func @tma_load_space(%t: memref<?x?x?x64xbf16>, %p: !llvm.ptr<1>, %b: !tile.barrier<1>, %i: index) {
  // expected-error@+1 {{operand #4 must be LLVM pointer in address space 3, but got '!llvm.ptr<1>'}}
  tile.tma_load %t[%i, %i, %i] column 0 to %p signals %b[%i] : memref<?x?x?x64xbf16>, !llvm.ptr<1>, !tile.barrier<1>
  return
}

// -----

func.func @tma_load_rank(%t: memref<?x?x64xbf16>, %p: !llvm.ptr<3>, %b: !tile.barrier<1>, %i: index) {
  // expected-error@+1 {{operand #0 must be 4D memref of 16-bit float or bfloat16 type values, but got 'memref<?x?x64xbf16>'}}
  tile.tma_load %t[%i, %i, %i] column 0 to %p signals %b[%i] : memref<?x?x64xbf16>, !llvm.ptr<3>, !tile.barrier<1>
  return
}

// -----

func.func @tma_gather_rows(%t: memref<?x?x?x64xbf16>, %p: !llvm.ptr<3>, %b: !tile.barrier<1>, %i: index) {
  // expected-error@+1 {{expected four rows, each with its batch or page, got 3 rows and 4 batches}}
  tile.tma_gather %t[%i, %i, %i, %i] rows [%i, %i, %i] head %i column 0 to %p signals %b[%i] : memref<?x?x?x64xbf16>, !llvm.ptr<3>, !tile.barrier<1>
  return
}

// -----

func.func @tma_gather_batches(%t: memref<?x?x?x64xbf16>, %p: !llvm.ptr<3>, %b: !tile.barrier<1>, %i: index) {
  // expected-error@+1 {{expected four rows, each with its batch or page, got 4 rows and 5 batches}}
  tile.tma_gather %t[%i, %i, %i, %i, %i] rows [%i, %i, %i, %i] head %i column 0 to %p signals %b[%i] : memref<?x?x?x64xbf16>, !llvm.ptr<3>, !tile.barrier<1>
  return
}

// -----

func.func @tma_store_column(%t: memref<?x?x?x64xbf16>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{attribute 'column' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose value is a multiple of 64}}
  tile.tma_store %p to %t[%i, %i, %i] column -64 : !llvm.ptr<3>, memref<?x?x?x64xbf16>
  return
}

// -----

func.func @tma_store_space(%t: memref<?x?x?x64xbf16>, %p: !llvm.ptr, %i: index) {
  // expected-error@+1 {{operand #0 must be LLVM pointer in address space 3, but got '!llvm.ptr'}}
  tile.tma_store %p to %t[%i, %i, %i] column 0 : !llvm.ptr, memref<?x?x?x64xbf16>
  return
}

// -----

func.func @alloc_power() {
  // expected-error@+1 {{attribute 'columns' failed to satisfy constraint: 32-bit signless integer attribute whose value is one of {32, 64, 128, 256, 512}}}
  tile.tmem_alloc 96 to 0
  return
}

// -----

func.func @alloc_few() {
  // expected-error@+1 {{attribute 'columns' failed to satisfy constraint: 32-bit signless integer attribute whose value is one of {32, 64, 128, 256, 512}}}
  tile.tmem_alloc 16 to 0
  return
}

// -----

func.func @alloc_many() {
  // expected-error@+1 {{attribute 'columns' failed to satisfy constraint: 32-bit signless integer attribute whose value is one of {32, 64, 128, 256, 512}}}
  tile.tmem_alloc 1024 to 0
  return
}

// -----

func.func @alloc_offset() {
  // expected-error@+1 {{attribute 'offset' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose maximum value is 232447 whose value is a multiple of 4}}
  tile.tmem_alloc 512 to 6
  return
}

// -----

func.func @base_offset() {
  // expected-error@+1 {{attribute 'offset' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose maximum value is 232447 whose value is a multiple of 4}}
  %0 = tile.tmem_base at 6
  return
}

// -----

func.func @dealloc(%base: i32) {
  // expected-error@+1 {{attribute 'columns' failed to satisfy constraint: 32-bit signless integer attribute whose value is one of {32, 64, 128, 256, 512}}}
  tile.tmem_dealloc %base columns 100
  return
}

// -----

func.func @tmem_load_count(%p: !llvm.ptr<6>) {
  // expected-error@+1 {{result #0 must be vector of 2, 4, 8, ... or 128 x i32, but got 'vector<24xi32>'}}
  %0 = tile.tmem_load %p : !llvm.ptr<6> -> vector<24xi32>
  return
}

// -----

func.func @tmem_load_many(%p: !llvm.ptr<6>) {
  // expected-error@+1 {{result #0 must be vector of 2, 4, 8, ... or 128 x i32, but got 'vector<256xi32>'}}
  %0 = tile.tmem_load %p : !llvm.ptr<6> -> vector<256xi32>
  return
}

// -----

func.func @tmem_load_rank(%p: !llvm.ptr<6>) {
  // expected-error@+1 {{result #0 must be vector of 2, 4, 8, ... or 128 x i32, but got 'vector<2x16xi32>'}}
  %0 = tile.tmem_load %p : !llvm.ptr<6> -> vector<2x16xi32>
  return
}

// -----

func.func @tmem_load_width(%p: !llvm.ptr<6>) {
  // expected-error@+1 {{result #0 must be vector of 2, 4, 8, ... or 128 x i32, but got 'vector<32xi16>'}}
  %0 = tile.tmem_load %p : !llvm.ptr<6> -> vector<32xi16>
  return
}

// -----

func.func @tmem_load_space(%p: !llvm.ptr<3>) {
  // expected-error@+1 {{operand #0 must be LLVM pointer in address space 6, but got '!llvm.ptr<3>'}}
  %0 = tile.tmem_load %p : !llvm.ptr<3> -> vector<32xi32>
  return
}

// -----

func.func @tmem_store_count(%p: !llvm.ptr<6>, %v: vector<3xi32>) {
  // expected-error@+1 {{operand #0 must be vector of 2, 4, 8, ... or 128 x i32, but got 'vector<3xi32>'}}
  tile.tmem_store %v, %p : vector<3xi32>, !llvm.ptr<6>
  return
}

// -----

func.func @tmem_store_space(%p: !llvm.ptr, %v: vector<4xi32>) {
  // expected-error@+1 {{operand #1 must be LLVM pointer in address space 6, but got '!llvm.ptr'}}
  tile.tmem_store %v, %p : vector<4xi32>, !llvm.ptr
  return
}

// -----

func.func @registers_few() {
  // expected-error@+1 {{attribute 'count' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 24 whose maximum value is 256 whose value is a multiple of 8}}
  tile.set_registers 16 from 128
  return
}

// -----

func.func @registers_many() {
  // expected-error@+1 {{attribute 'count' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 24 whose maximum value is 256 whose value is a multiple of 8}}
  tile.set_registers 264 from 128
  return
}

// -----

func.func @registers_odd() {
  // expected-error@+1 {{attribute 'count' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 24 whose maximum value is 256 whose value is a multiple of 8}}
  tile.set_registers 100 from 128
  return
}

// -----

func.func @registers_previous() {
  // expected-error@+1 {{attribute 'previous' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 24 whose maximum value is 256 whose value is a multiple of 8}}
  tile.set_registers 96 from 130
  return
}

// -----

func.func @channel_arrivals() {
  // expected-error@+1 {{attribute 'consumer_arrivals' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 1 whose maximum value is 1048575}}
  %0 = tile.channel "s" from mma to threads arrivals 1, 1048576 : !tile.channel<!tile.tile<128xf32, #tile.smem<offset = 0>>>
  return
}

// -----

func.func @barriers_beyond() {
  // expected-error@+1 {{expected mbarriers inside the 232448 bytes of shared memory, got them up to byte 232456}}
  %0 = tile.barrier "b" at 232440 arrivals 1 : !tile.barrier<2>
  return
}

// -----

func.func @address_beyond() {
  // expected-error@+1 {{attribute 'offset' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose maximum value is 232447}}
  %0 = tile.smem_address 232448 : !llvm.ptr<3>
  return
}

// -----

func.func @descriptor_step(%p: !llvm.ptr<3>) {
  // expected-error@+1 {{whose value is a multiple of 16}}
  %0 = tile.descriptor %p plus 8 fields 0 : !llvm.ptr<3>
  return
}

// -----

func.func @one_register(%p: !llvm.ptr<6>) {
  // expected-error@+1 {{result #0 must be vector of 2, 4, 8, ... or 128 x i32, but got 'vector<1xi32>'}}
  %0 = tile.tmem_load %p : !llvm.ptr<6> -> vector<1xi32>
  return
}

// -----

func.func @scalable(%v: vector<[4]xi32>) {
  // expected-error@+1 {{operand #0 must be variadic of vector of 2, 4, 8, ... or 128 x i32, but got 'vector<[4]xi32>'}}
  %0 = tile.tmem_wait load of %v : vector<[4]xi32> to vector<4xi32>
  return
}

// -----

func.func @lane(%b: i32) {
  // expected-error@+1 {{attribute 'lane' failed to satisfy constraint: 32-bit signless integer attribute whose value is one of {0, 16}}}
  %0 = tile.tmem_address 0 lane 8 from %b of_warp : !llvm.ptr<6>
  return
}

// -----

func.func @split(%p: !llvm.ptr<6>) {
  // expected-error@+1 {{attribute 'split' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 1 whose maximum value is 511}}
  %0 = tile.tmem_load %p split 0 : !llvm.ptr<6> -> vector<8xi32>
  return
}

// -----

func.func @gather_indices(%bias: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{expected an index for each of the 2 dimensions, got 1}}
  %0 = tile.gather %bias[%i] : memref<?x?xf32>, index -> f32
  return
}

// -----

func.func @gather_lengths(%bias: memref<?x?xf32>, %i: vector<8xindex>, %j: vector<16xindex>) {
  // expected-error@+1 {{expected indices of one length, got 'vector<8xf32>' and 'vector<16xf32>'}}
  %0 = tile.gather %bias[%i, %j] : memref<?x?xf32>, vector<8xindex>, vector<16xindex> -> vector<16xf32>
  return
}

// -----

func.func @gather_result(%bias: memref<?xf32>, %i: vector<8xindex>) {
  // expected-error@+1 {{expected a result of 'vector<8xf32>', got 'f32'}}
  %0 = tile.gather %bias[%i] : memref<?xf32>, vector<8xindex> -> f32
  return
}

// -----

func.func @modify_arguments(%s: !tile.tile<128x128xf32>, %t: memref<?x?x?x64xbf16>, %i: index) {
  %q = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xbf16> -> !tile.view<?x64xbf16>
  // expected-error@+1 {{expected a region of ('f32', 'index', 'index'), got ('f32', 'index')}}
  %0 = tile.modify %s at %q[%i, %i] : !tile.tile<128x128xf32>, !tile.view<?x64xbf16> {
  ^bb0(%e: f32, %row: index):
    tile.yield %e : f32
  }
  return
}

// -----

func.func @tma_load_other(%t: memref<?x?x?x64xbf16>, %i: index, %p: !llvm.ptr<3>, %b: !tile.barrier<3>) {
  // expected-error@+1 {{expected another tensor and the condition that takes it, or neither, got another tensor alone}}
  "tile.tma_load"(%t, %i, %i, %i, %p, %b, %i, %t) {column = 0 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0>}
      : (memref<?x?x?x64xbf16>, index, index, index, !llvm.ptr<3>, !tile.barrier<3>, index, memref<?x?x?x64xbf16>) -> ()
  return
}

// -----

func.func @modify_end(%s: !tile.tile<128x128xf32>, %t: memref<?x?x?x64xbf16>, %i: index) {
  %q = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xbf16> -> !tile.view<?x64xbf16>
  // expected-error@+1 {{expected tile.yield at the end of the region}}
  %0 = "tile.modify"(%s, %q, %i, %i) ({
  ^bb0(%e: f32, %row: index, %column: index):
    %x = arith.addf %e, %e : f32
  }) : (!tile.tile<128x128xf32>, !tile.view<?x64xbf16>, index, index) -> !tile.tile<128x128xf32>
  return
}

// -----

func.func @modify_results(%s: !tile.tile<128x128xf32>, %t: memref<?x?x?x64xbf16>, %i: index) {
  %q = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xbf16> -> !tile.view<?x64xbf16>
  %0 = tile.modify %s at %q[%i, %i] : !tile.tile<128x128xf32>, !tile.view<?x64xbf16> {
  ^bb0(%e: f32, %row: index, %column: index):
    // expected-error@+1 {{expected ops of one result and no region in a tile.modify}}
    %sum, %carry = arith.addui_extended %row, %column : index, i1
    tile.yield %e : f32
  }
  return
}

// -----

func.func @modify_vectors(%s: !tile.tile<128x128xf32>, %t: memref<?x?x?x64xbf16>, %i: index) {
  %q = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xbf16> -> !tile.view<?x64xbf16>
  %0 = tile.modify %s at %q[%i, %i] : !tile.tile<128x128xf32>, !tile.view<?x64xbf16> {
  ^bb0(%e: f32, %row: index, %column: index):
    // expected-error@+1 {{expected a number as the result of each op in a tile.modify, got 'vector<2xf32>'; write it for one score}}
    %two = vector.broadcast %e : f32 to vector<2xf32>
    tile.yield %e : f32
  }
  return
}

// -----

func.func @modify_nothing(%s: !tile.tile<128x128xf32>, %t: memref<?x?x?x64xbf16>, %i: index) {
  %q = tile.view %t batch %i head %i rows %i : memref<?x?x?x64xbf16> -> !tile.view<?x64xbf16>
  %0 = tile.modify %s at %q[%i, %i] : !tile.tile<128x128xf32>, !tile.view<?x64xbf16> {
  ^bb0(%e: f32, %row: index, %column: index):
    // expected-error@+1 {{expected ops of one result and no region in a tile.modify}}
    gpu.barrier
    tile.yield %e : f32
  }
  return
}

// -----

func.func @gather_wide(%table: memref<?xf64>, %i: index) {
  // expected-error@+1 {{expected a source that holds f32, f16, bf16, i64, i32 or i8, got 'memref<?xf64>'}}
  %0 = tile.gather %table[%i] : memref<?xf64>, index -> f64
  return
}

// -----

func.func @gather_flag(%flags: memref<?xi1>, %i: index) {
  // expected-error@+1 {{expected a source that holds f32, f16, bf16, i64, i32 or i8, got 'memref<?xi1>'}}
  %0 = tile.gather %flags[%i] : memref<?xi1>, index -> i1
  return
}

// -----

func.func @copy_rows_both(%k: memref<?x16x?x64xbf16>, %l: memref<?xi32>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected either a batch, or a list of pages and its entry, got more than one}}
  tile.copy_rows 64 x 64 of %k pages %l[%i] batch %i head %i from %i before %i to %p warps 2 from 2 : memref<?x16x?x64xbf16>, !llvm.ptr<3>, memref<?xi32>
  return
}

// -----

func.func @copy_rows_neither(%k: memref<?x16x?x64xbf16>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected either a batch, or a list of pages and its entry, got none}}
  tile.copy_rows 64 x 64 of %k head %i from %i before %i to %p warps 2 from 2 : memref<?x16x?x64xbf16>, !llvm.ptr<3>
  return
}

// -----

func.func @copy_rows_type(%k: memref<?x16x?x64xf32>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected a tensor of four dimensions with f16 or bf16 elements and a static head dim of whole chunks of 16 bytes, got 'memref<?x16x?x64xf32>'}}
  tile.copy_rows 64 x 64 of %k batch %i head %i from %i before %i to %p warps 2 from 2 : memref<?x16x?x64xf32>, !llvm.ptr<3>
  return
}

// -----

func.func @copy_rows_pages(%k: memref<?x?x?x64xbf16>, %l: memref<?xi32>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected a static number of rows per page and no first row of a sequence, got 'memref<?x?x?x64xbf16>'}}
  tile.copy_rows 64 x 64 of %k pages %l[%i] head %i from %i before %i to %p warps 2 from 2 : memref<?x?x?x64xbf16>, !llvm.ptr<3>, memref<?xi32>
  return
}

// -----

func.func @copy_rows_warps(%k: memref<?x?x?x64xbf16>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected 2 or 4 warps and a multiple of 4 rows per warp, got 64 rows and 3 warps}}
  tile.copy_rows 64 x 64 of %k batch %i head %i from %i before %i to %p warps 3 from 1 : memref<?x?x?x64xbf16>, !llvm.ptr<3>
  return
}

// -----

func.func @copy_rows_count(%k: memref<?x?x?x64xbf16>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected 2 or 4 warps and a multiple of 4 rows per warp, got 20 rows and 2 warps}}
  tile.copy_rows 20 x 64 of %k batch %i head %i from %i before %i to %p warps 2 from 2 : memref<?x?x?x64xbf16>, !llvm.ptr<3>
  return
}

// -----

func.func @convert_rows_type(%k: memref<?x16x?x64xi8>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected a tensor of four dimensions with f8E4M3FN elements and a static head dim of whole chunks of 16 bytes, got 'memref<?x16x?x64xi8>'}}
  tile.convert_rows 64 x 64 of %k batch %i head %i from %i before %i to %p as bf16 prefetched 0 warps 4 from 4 : memref<?x16x?x64xi8>, !llvm.ptr<3>
  return
}

// -----

func.func @convert_rows_element(%k: memref<?x16x?x64xf8E4M3FN>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected to convert to f16 or bf16, got 'f32'}}
  tile.convert_rows 64 x 64 of %k batch %i head %i from %i before %i to %p as f32 prefetched 0 warps 4 from 4 : memref<?x16x?x64xf8E4M3FN>, !llvm.ptr<3>
  return
}

// -----

func.func @convert_rows_count(%k: memref<?x16x?x64xf8E4M3FN>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected 2 or 4 warps and a multiple of 8 rows per warp, got 48 rows and 4 warps}}
  tile.convert_rows 48 x 64 of %k batch %i head %i from %i before %i to %p as bf16 prefetched 0 warps 4 from 4 : memref<?x16x?x64xf8E4M3FN>, !llvm.ptr<3>
  return
}

// -----

func.func @copy_rows_list(%k: memref<?x?x?x64xbf16>, %l: memref<?xi32>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected a list, its first entry and a bound, without the first row of a sequence, or none of them, got a list}}
  tile.copy_rows 64 x 64 of %k list %l[%i] below %i : memref<?xi32> batch %i head %i from %i before %i start %i to %p warps 2 from 2 : memref<?x?x?x64xbf16>, !llvm.ptr<3>
  return
}

// -----

func.func @copy_rows_index(%k: memref<?x?x?x64xindex>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected a tensor of four dimensions with f16 or bf16 elements}}
  tile.copy_rows 64 x 64 of %k batch %i head %i from %i before %i to %p warps 2 from 2 : memref<?x?x?x64xindex>, !llvm.ptr<3>
  return
}

// -----

func.func @copy_rows_columns(%k: memref<?x?x?x64xbf16>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected a multiple of 16 columns, got 20}}
  tile.copy_rows 64 x 20 of %k batch %i head %i from %i before %i to %p warps 2 from 2 : memref<?x?x?x64xbf16>, !llvm.ptr<3>
  return
}

// -----

func.func @copy_rows_strided(%k: memref<?x16x?x64xbf16>, %l: memref<?xi32, strided<[2]>>, %p: !llvm.ptr<3>, %i: index) {
  // expected-error@+1 {{expected a contiguous list, got 'memref<?xi32, strided<[2]>>'}}
  tile.copy_rows 64 x 64 of %k pages %l[%i] head %i from %i before %i to %p warps 2 from 2 : memref<?x16x?x64xbf16>, !llvm.ptr<3>, memref<?xi32, strided<[2]>>
  return
}

// -----

func.func @list_length_strided(%l: memref<?xi32, strided<[2]>>, %i: index) {
  // expected-error@+1 {{expected a contiguous list, got 'memref<?xi32, strided<[2]>>'}}
  %n = tile.list_length %l[%i] to %i : memref<?xi32, strided<[2]>>
  return
}

// -----

func.func @list_entry_strided(%l: memref<?xi32, strided<[2]>>, %i: index, %c: i1) {
  // expected-error@+1 {{expected a contiguous list, got 'memref<?xi32, strided<[2]>>'}}
  %n = tile.list_entry %l[%i] if %c : memref<?xi32, strided<[2]>>
  return
}

// -----

func.func @find_slot_strided(%l: memref<?xi32, strided<[2]>>, %i: index) {
  // expected-error@+1 {{expected a contiguous list, got 'memref<?xi32, strided<[2]>>'}}
  %b, %part, %parts = tile.find_slot %l[%i] of %i splits 2 keys 64 : memref<?xi32, strided<[2]>>
  return
}

// -----

func.func @find_slot_without_splits(%l: memref<?xi32>, %i: index) {
  // expected-error@+1 {{expected at least 2 splits and 1 key, got 1 and 64}}
  %b, %part, %parts = tile.find_slot %l[%i] of %i splits 1 keys 64 : memref<?xi32>
  return
}
