func.func @attend(%q: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %k: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>,
                  %v: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, %o: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>) {
  fmha.attention ins(%q, %k, %v : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>, memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>,
                                  memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>)
                 outs(%o : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>>) {mask = #fmha.mask<causal>}
  return
}
