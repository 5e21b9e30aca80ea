// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-dispatch-targets{targets=sm_90a,sm_100a})' | FileCheck %s
// RUN: fmha-opt %s --pass-pipeline='builtin.module(fmha-to-gpu{target=sm_90a,sm_100a checks=off})' | FileCheck %s --check-prefix=GPU

// CHECK-LABEL: func.func @two
// CHECK:         %[[CAPABILITY:.*]] = fmha.compute_capability
// CHECK:         scf.index_switch %[[CAPABILITY]]
// CHECK:         case 90 {
// CHECK:           fmha.attention {{.*}} {fmha.target = "sm_90a"}
// CHECK:         case 100 {
// CHECK:           fmha.attention {{.*}} {fmha.target = "sm_100a"}
// CHECK:         default {
// CHECK:           cf.assert %{{.*}}, "{{.*}}expected a device of sm_90a or sm_100a, the targets of the program, got another compute capability; add it to target="
// CHECK:         scf.index_switch
// CHECK:           fmha.merge {{.*}} {target = "sm_90a"}
// CHECK:           fmha.merge {{.*}} {target = "sm_100a"}

// GPU-LABEL: func.func @two
// GPU:         case 90 {
// GPU:           gpu.launch_func @[[HOPPER:.*]]::@fmha_fwd
// GPU:         case 100 {
// GPU:           gpu.launch_func @[[BLACKWELL:.*]]::@fmha_fwd
// GPU-DAG:     gpu.binary @[[HOPPER]] {{.*}}chip = "sm_90a"
// GPU-DAG:     gpu.binary @[[BLACKWELL]] {{.*}}chip = "sm_100a"
!t = memref<1x64x2x64xbf16>
!o = memref<3x1x64x2x64xf32>
!m = memref<3x1x2x64xf32>
func.func @two(%q: !t, %o: !t, %parts: !o, %max: !m, %sum: !m) {
  fmha.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  fmha.merge ins(%parts, %max, %sum : !o, !m, !m) outs(%o : !t)
  return
}
