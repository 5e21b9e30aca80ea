"""Holds which .target has an instruction against ptxas: for each form and target
both accept the module, or both refuse it. The instruction can be reached, but
does not execute."""

import pathlib
import subprocess
import sys
import tempfile

TARGETS = "80 89 90 90a 100 100a 100f 103a 110f 120 120a 121f".split()
REGISTERS = (
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<12>; .reg .b64 %q<6>; .reg .f32 %f<9>;"
    ".shared .align 128 .b8 s[1024];"
)
FORMS = [
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32;",
    "tcgen05.mma.cta_group::1.kind::f16 [%r1], %q1, %q2, %r2, %p1;",
    "tcgen05.fence::before_thread_sync;",
    "setmaxnreg.inc.sync.aligned.u32 128;",
    "cp.async.ca.shared.global [s], [%q1], 16;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%q1], 16, [%r2];",
    "cp.async.bulk.commit_group;",
    "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%q1, {%r3}], [%r2];",
    "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 [%r1], [%q1, {%r3}], [%r2];",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%q1], [%r1], 16;",
    "prefetch.tensormap [%q1];",
    "st.bulk.weak.shared::cta [%r1], %q1, 0;",
    "ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%q1];",
    "ld.global.v4.b64 {%q1, %q2, %q3, %q4}, [%q5];",
    "ld.shared::cluster.u32 %r1, [%r2];",
    "mbarrier.init.shared.b64 [s], 1;",
    "mbarrier.try_wait.parity.shared.b64 %p1, [s], 0;",
    "mbarrier.arrive.expect_tx.shared.b64 %q1, [s], 16;",
    "fence.acq_rel.gpu;",
    "fence.acq_rel.cluster;",
    "fence.proxy.async;",
    "fence.proxy.alias;",
    "fence.mbarrier_init.release.cluster;",
    "barrier.cluster.arrive;",
    "griddepcontrol.wait;",
    "elect.sync _|%p1, 0xffffffff;",
    "mapa.u32 %r1, %r2, 1;",
    "mov.u32 %r1, %cluster_ctarank;",
    "mov.u32 %r1, %ctaid.x;",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [s], {%r1};",
    "redux.sync.add.s32 %r1, %r2, -1;",
    "redux.sync.min.f32 %f1, %f2, -1;",
    "fma.rn.f32x2 %q1, %q2, %q3, %q4;",
    "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
    "cvt.rn.satfinite.e2m3x2.f32 %h1, %f1, %f2;",
    "cvt.rn.tf32.f32 %r1, %f1;",
    "add.rn.bf16x2 %r1, %r2, %r3;",
    "fma.rn.bf16x2 %r1, %r2, %r3, %r4;",
    "ex2.approx.ftz.bf16 %h1, %h2;",
    "min.xorsign.abs.f32 %f1, %f2, %f3;",
    "atom.global.add.noftz.bf16x2 %r1, [%q1], %r2;",
    "red.global.v4.f32.add [%q1], {%f5, %f6, %f7, %f8};",
]


def module(target, form):
    return (
        f".version 9.0\n.target sm_{target}\n.address_size 64\n.entry k()\n{{\n{REGISTERS}\n"
        f"mov.u32 %r0, %tid.x;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 bra END;\n{form}\nEND:\nret;\n}}\n"
    )


def accepts(form, target, path):
    path.write_text(module(target, form))
    run = subprocess.run(["ptx-sim", path], capture_output=True, text=True, timeout=60)
    refused = "is not in the module's target: expected .target sm_" in run.stderr
    assert run.returncode == (2 if refused else 0), (form, target, run.stdout, run.stderr)
    assert not refused or run.stderr.split("\n")[0].endswith(f"got sm_{target}"), run.stderr
    return not refused


def assembles(target, path):
    command = ["ptxas", f"-arch=sm_{target}", path, "-o", "/dev/null"]
    return subprocess.run(command, capture_output=True).returncode == 0


with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "k.ptx"
    wrong = []
    for form in FORMS:
        for target in TARGETS:
            ours = accepts(form, target, path)
            if ours != assembles(target, path):
                wrong.append(f"sm_{target} {form} ptx-sim {ours}")
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))
