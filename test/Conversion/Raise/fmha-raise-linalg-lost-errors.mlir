// RUN: fmha-opt %s --fmha-raise-linalg=compute=keep --split-input-file --remarks-filter-missed=fmha-raise --remark-format=emitRemark 2>&1 | FileCheck %s

// A sum over a dimension that neither operand has counts each product several times, and types without -inf or with few bits lose scores.
// CHECK-COUNT-3: remark: [Missed]
// CHECK-NOT: fmha.attention

#qm = affine_map<(b,i,j,d) -> (b,i,d)>
#km = affine_map<(b,i,j,d) -> (b,j,d)>
#sm = affine_map<(b,i,j,d) -> (b,i,j)>
#pm = affine_map<(b,i,d,j) -> (b,i,j)>
#vm = affine_map<(b,i,d,j) -> (b,j,d)>
#om = affine_map<(b,i,d,j) -> (b,i,d)>
#id = affine_map<(b,i,j) -> (b,i,j)>
#row = affine_map<(b,i,j) -> (b,i)>
#q5 = affine_map<(b,i,j,d,r) -> (b,i,d)>
#k5 = affine_map<(b,i,j,d,r) -> (b,j,d)>
#w5 = affine_map<(b,i,j,d,r) -> (r)>
#s5 = affine_map<(b,i,j,d,r) -> (b,i,j)>
func.func @f(%q:tensor<2x8x16xf32>,%k:tensor<2x8x16xf32>,%v:tensor<2x8x16xf32>, %w: tensor<4xf32>) -> tensor<2x8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x8x8xf32>
  %zs = linalg.fill ins(%zero:f32) outs(%es:tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %eo = tensor.empty() : tensor<2x8x16xf32>
  %zo = linalg.fill ins(%zero:f32) outs(%eo:tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %s = linalg.generic {indexing_maps=[#q5,#k5,#w5,#s5], iterator_types=["parallel","parallel","parallel","reduction","reduction"]} ins(%q,%k,%w:tensor<2x8x16xf32>,tensor<2x8x16xf32>,tensor<4xf32>) outs(%zs:tensor<2x8x8xf32>) {
  ^bb0(%a:f32,%bb:f32,%ww:f32,%c:f32):
    %m = arith.mulf %a,%bb : f32
    %r = arith.addf %c,%m : f32
    linalg.yield %r : f32 } -> tensor<2x8x8xf32>
  
  %p = linalg.softmax dimension(2) ins(%s:tensor<2x8x8xf32>) outs(%es:tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %o = linalg.generic {indexing_maps=[#pm,#vm,#om], iterator_types=["parallel","parallel","parallel","reduction"]} ins(%p,%v:tensor<2x8x8xf32>,tensor<2x8x16xf32>) outs(%zo:tensor<2x8x16xf32>) {
  ^bb0(%a:f32,%bb:f32,%c:f32):
    %m = arith.mulf %a,%bb : f32
    %r = arith.addf %c,%m : f32
    linalg.yield %r : f32 } -> tensor<2x8x16xf32>
  
  return %o : tensor<2x8x16xf32>
}

// -----

#qm = affine_map<(b,i,j,d) -> (b,i,d)>
#km = affine_map<(b,i,j,d) -> (b,j,d)>
#sm = affine_map<(b,i,j,d) -> (b,i,j)>
#pm = affine_map<(b,i,d,j) -> (b,i,j)>
#vm = affine_map<(b,i,d,j) -> (b,j,d)>
#om = affine_map<(b,i,d,j) -> (b,i,d)>
#id = affine_map<(b,i,j) -> (b,i,j)>
#row = affine_map<(b,i,j) -> (b,i)>
func.func @f(%q:tensor<2x8x16xf32>,%k:tensor<2x8x16xf32>,%v:tensor<2x8x16xf32>) -> tensor<2x8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x8x8xf32>
  %zs = linalg.fill ins(%zero:f32) outs(%es:tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %eo = tensor.empty() : tensor<2x8x16xf32>
  %zo = linalg.fill ins(%zero:f32) outs(%eo:tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %s0 = linalg.generic {indexing_maps=[#qm,#km,#sm], iterator_types=["parallel","parallel","parallel","reduction"]} ins(%q,%k:tensor<2x8x16xf32>,tensor<2x8x16xf32>) outs(%zs:tensor<2x8x8xf32>) {
  ^bb0(%a:f32,%bb:f32,%c:f32):
    %m = arith.mulf %a,%bb : f32
    %r = arith.addf %c,%m : f32
    linalg.yield %r : f32 } -> tensor<2x8x8xf32>
  %s = linalg.generic {indexing_maps=[#id,#id], iterator_types=["parallel","parallel","parallel"]} ins(%s0:tensor<2x8x8xf32>) outs(%es:tensor<2x8x8xf32>) {
  ^bb0(%a:f32,%c:f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %bi = linalg.index 0 : index
    %t = arith.truncf %a : f32 to f8E4M3FN
    %r = arith.extf %t : f8E4M3FN to f32
    linalg.yield %r : f32 } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%s:tensor<2x8x8xf32>) outs(%es:tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %o = linalg.generic {indexing_maps=[#pm,#vm,#om], iterator_types=["parallel","parallel","parallel","reduction"]} ins(%p,%v:tensor<2x8x8xf32>,tensor<2x8x16xf32>) outs(%zo:tensor<2x8x16xf32>) {
  ^bb0(%a:f32,%bb:f32,%c:f32):
    %m = arith.mulf %a,%bb : f32
    %r = arith.addf %c,%m : f32
    linalg.yield %r : f32 } -> tensor<2x8x16xf32>
  
  return %o : tensor<2x8x16xf32>
}

// -----

#qm = affine_map<(b,i,j,d) -> (b,i,d)>
#km = affine_map<(b,i,j,d) -> (b,j,d)>
#sm = affine_map<(b,i,j,d) -> (b,i,j)>
#pm = affine_map<(b,i,d,j) -> (b,i,j)>
#vm = affine_map<(b,i,d,j) -> (b,j,d)>
#om = affine_map<(b,i,d,j) -> (b,i,d)>
#id = affine_map<(b,i,j) -> (b,i,j)>
#row = affine_map<(b,i,j) -> (b,i)>
func.func @f(%q:tensor<2x8x16xf32>,%k:tensor<2x8x16xf32>,%v:tensor<2x8x16xf32>) -> tensor<2x8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x8x8xf32>
  %zs = linalg.fill ins(%zero:f32) outs(%es:tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %eo = tensor.empty() : tensor<2x8x16xf32>
  %zo = linalg.fill ins(%zero:f32) outs(%eo:tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %s0 = linalg.generic {indexing_maps=[#qm,#km,#sm], iterator_types=["parallel","parallel","parallel","reduction"]} ins(%q,%k:tensor<2x8x16xf32>,tensor<2x8x16xf32>) outs(%zs:tensor<2x8x8xf32>) {
  ^bb0(%a:f32,%bb:f32,%c:f32):
    %m = arith.mulf %a,%bb : f32
    %r = arith.addf %c,%m : f32
    linalg.yield %r : f32 } -> tensor<2x8x8xf32>
  %s = linalg.generic {indexing_maps=[#id,#id], iterator_types=["parallel","parallel","parallel"]} ins(%s0:tensor<2x8x8xf32>) outs(%es:tensor<2x8x8xf32>) {
  ^bb0(%a:f32,%c:f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %bi = linalg.index 0 : index
    %cc = arith.cmpi sge, %i, %j : index
    %x = arith.select %cc, %a, %ninf : f32
    %t = arith.truncf %x : f32 to f8E4M3FN
    %r = arith.extf %t : f8E4M3FN to f32
    linalg.yield %r : f32 } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%s:tensor<2x8x8xf32>) outs(%es:tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %o = linalg.generic {indexing_maps=[#pm,#vm,#om], iterator_types=["parallel","parallel","parallel","reduction"]} ins(%p,%v:tensor<2x8x8xf32>,tensor<2x8x16xf32>) outs(%zo:tensor<2x8x16xf32>) {
  ^bb0(%a:f32,%bb:f32,%c:f32):
    %m = arith.mulf %a,%bb : f32
    %r = arith.addf %c,%m : f32
    linalg.yield %r : f32 } -> tensor<2x8x16xf32>
  
  return %o : tensor<2x8x16xf32>
}
