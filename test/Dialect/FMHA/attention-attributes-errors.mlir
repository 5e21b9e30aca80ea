// Attributes that change nothing are errors, unless they are marks.
// RUN: fmha-opt %s --split-input-file --verify-diagnostics

!t = memref<1x64x2x64xbf16>
func.func @dropout(%q: !t, %o: !t) {
  // expected-error @below {{expected attributes among 'block_keys', 'block_rows', 'mask', 'rotary', 'scale', 'scale_per_head', 'scale_per_page', 'schedule', 'source2_mask', 'unnormalised', or with the prefix of a dialect, got 'dropout', which no kernel implements; remove it}}
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) {dropout = 0.1 : f32}
  return
}

// -----

!t = memref<1x64x2x64xbf16>
func.func @misspelt(%q: !t, %o: !t) {
  // expected-error @below {{got 'scales', which is not among them; did you mean 'scale'?}}
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) {scales = 0.5 : f64}
  return
}

// -----

!t = memref<1x64x2x64xbf16>
func.func @misspelt_unit(%q: !t, %o: !t) {
  // expected-error @below {{got 'unnormalized', which is not among them; did you mean 'unnormalised'?}}
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) {unnormalized}
  return
}

// -----

// A name that other libraries use.
!t = memref<1x64x2x64xbf16>
func.func @other_name(%q: !t, %o: !t) {
  // expected-error @below {{got 'causal', which is not among them; did you mean 'mask'?}}
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) {causal}
  return
}

// -----

// Attributes of dialects, and the marks of passes and scripts, are accepted.
!t = memref<1x64x2x64xbf16>
func.func @accepted(%q: !t, %o: !t) {
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) {gpu.note = 1 : i64, __mark = 2 : i64, layer_3}
  return
}
