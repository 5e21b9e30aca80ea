// Latent attention: V is the first 512 columns of K. Two consumers share the columns of O.
!q = memref<?x?x?x576xbf16, strided<[?, ?, ?, 1]>>
!v = memref<?x?x?x512xbf16, strided<[?, ?, ?, 1]>>
!l = memref<?x?x?xf32, strided<[?, ?, ?]>>
func.func @latent(%q: !q, %k: !q, %o: !v, %l: !l, %b: index, %n: index) {
  %v = memref.subview %k[0, 0, 0, 0] [%b, %n, 1, 512] [1, 1, 1, 1] : !q to memref<?x?x1x512xbf16, strided<[?, ?, ?, 1]>>
  %c = memref.cast %v : memref<?x?x1x512xbf16, strided<[?, ?, ?, 1]>> to !v
  fmha.attention ins(%q, %k, %c : !q, !q, !v) outs(%o, %l : !v, !l)
  return
}
