"""Holds which widths of registers an instruction takes against ptxas: both accept a
form, or both refuse it. The instruction can be reached, but does not execute."""

import pathlib
import subprocess
import sys
import tempfile

FORMS = [
    "mov.u32 %r1, %q1;",
    "add.u64 %q1, %r1, 1;",
    "add.s32 %r1, %r1, %q1;",
    "add.s32 %q1, %r1, %r1;",
    "setp.eq.u32 %p1, %q1, 0;",
    "selp.b32 %r1, %q1, %r1, %p1;",
    "cvt.u32.u16 %r1, %r2;",
    "cvt.u32.u16 %r1, %h1;",
    "cvt.rn.f32.u32 %f1, %q1;",
    "cvt.u64.u32 %r1, %r2;",
    "cvt.u16.u32 %r1, %r2;",
    "cvt.u8.u32 %h1, %r2;",
    "cvt.u8.u32 %r1, %r2;",
    "cvt.u32.u8 %r1, %h2;",
    "cvt.rn.f16.f32 %h1, %f1;",
    "cvt.rn.f16.f32 %r1, %f1;",
    "cvt.f32.f16 %f1, %h1;",
    "cvt.f32.f16 %f1, %r1;",
    "shl.b64 %q1, %q1, %q2;",
    "shl.b64 %q1, %q1, %r2;",
    "shl.b16 %h1, %h2, %r1;",
    "shl.b16 %h1, %h2, %h1;",
    "mul.wide.s32 %r1, %r1, %r2;",
    "mul.wide.s32 %q1, %r1, %r2;",
    "mul.wide.u16 %r1, %h1, %h2;",
    "mul.lo.s64 %q1, %q2, %r1;",
    "and.pred %p1, %p2, %p3;",
    "and.b32 %r1, %r2, %p1;",
    "add.f32 %f1, %r1, %f2;",
    "add.f32 %f1, %q1, %f2;",
    "mov.b64 %q1, {%r1, %r2};",
    "mov.b64 %q1, pair;",
    "mov.b64 pair, %q1;",
    "mov.b32 %r1, pair;",
    "mov.b64 {%r1, %r2}, %q1;",
    "mov.b32 {%h1, %h2}, %r1;",
    "mov.b32 %f1, %r1;",
    "mov.f32 %f1, %r1;",
    "mov.b16 %h1, %r1;",
    "mov.pred %p1, %p2;",
    "mov.pred %p1, %r2;",
    "bfe.u64 %q1, %q2, %r1, %r2;",
    "bfe.u64 %q1, %q2, %q1, %r2;",
    "popc.b64 %r1, %q1;",
    "popc.b64 %q1, %q1;",
    "clz.b32 %r1, %r2;",
    "mad.wide.u32 %q1, %r1, %r2, %q2;",
    "mad.wide.u32 %q1, %r1, %r2, %r2;",
    "slct.f32.s32 %f1, %f2, %f3, %r1;",
    "slct.f32.s32 %f1, %f2, %f3, %q1;",
    "fma.rn.f16x2 %r1, %r2, %r3, %r4;",
    "fma.rn.f16x2 %r1, %r2, %r3, %h1;",
    "fma.rn.f16 %h1, %h2, %h1, %h2;",
    "fma.rn.f16 %h1, %h2, %h1, %r2;",
    "add.cc.u32 %r1, %r2, %r3;",
    "addc.u64 %q1, %q2, %q3;",
    "szext.wrap.u32 %r1, %r2, %r3;",
    "prmt.b32 %r1, %r2, %r3, %r4;",
    "shf.l.wrap.b32 %r1, %r2, %r3, %r4;",
    "lop3.b32 %r1, %r2, %r3, %r4, 0x96;",
    "dp4a.u32.u32 %r1, %r2, %r3, %r4;",
    "set.eq.u32.u32 %r1, %r2, %r3;",
    "set.eq.f32.u16 %f1, %h1, %h2;",
    "setp.lt.and.f32 %p1, %f1, %f2, %p2;",
    "setp.lt.f32 %p1|%p2, %f1, %f2;",
    "vadd.u32.u32.u32 %r1, %r2, %r3;",
    "bfind.u64 %r1, %q1;",
    "fns.b32 %r1, %r2, %r3, %r4;",
    "cvt.rn.bf16x2.f32 %r1, %f1, %f2;",
    "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
    "cvt.rn.f16x2.e4m3x2 %r1, %h1;",
    "cvt.rna.tf32.f32 %r1, %f1;",
    "cvt.s64.s32 %q1, %r1;",
    "cvt.s64.s16 %q1, %r1;",
    "cvt.s32.s64 %q1, %q2;",
    "neg.s16 %h1, %h2;",
    "abs.s16 %h1, %r2;",
    "sad.u16 %h1, %h2, %h1, %h2;",
    "mul24.lo.u32 %r1, %r2, %r3;",
    "testp.finite.f32 %p1, %f1;",
    "copysign.f64 %d1, %d2, %d1;",
    "ex2.approx.f16 %h1, %h2;",
    "tanh.approx.f16x2 %r1, %r2;",
    "min.s16x2 %r1, %r2, %r3;",
    "brev.b64 %q1, %q2;",
    "bmsk.clamp.b32 %r1, %r2, %r3;",
    "cnot.b16 %h1, %h2;",
    "not.pred %p1, %p2;",
    "xor.b64 %q1, %q2, %d1;",
    "mov.u32 %r1, %tid.x;",
    "mov.u64 %q1, %clock64;",
    "mov.u64 %q1, s;",
    "mov.u32 %r1, s;",
    "mov.u16 %h1, %tid.x;",
    "cvt.u16.u32 %h1, %tid.x;",
    "cvt.u64.u32 %q1, %tid.x;",
]
MODULE = """.version 9.0
.target sm_100a
.address_size 64
.entry k()
{
  .reg .pred %p<4>;
  .reg .b16 %h<4>;
  .reg .b32 %r<12>;
  .reg .v2 .b32 pair;
  .reg .b64 %q<6>;
  .reg .f32 %f<9>;
  .reg .f64 %d<3>;
  .shared .align 128 .b8 s[1024];
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p0, %r0, 0;
  @%p0 bra END;
  FORM
END:
  ret;
}
"""


def accepts(command):
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    refused = "expected a register of" in run.stderr
    assert run.returncode in (0, 255) or refused, (command, run.stderr)
    return run.returncode == 0


with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "k.ptx"
    wrong, refused = [], 0
    for form in FORMS:
        path.write_text(MODULE.replace("FORM", form))
        ours = accepts(["ptx-sim", path])
        refused += not ours
        if ours != accepts(["ptxas", "-arch=sm_100a", path, "-o", "/dev/null"]):
            wrong.append(f"{form} ptx-sim {ours}")
    print(refused, "of", len(FORMS), "are refused", *wrong, sep="\n")
    sys.exit(bool(wrong) or refused < 10)
