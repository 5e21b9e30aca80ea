"""Whole programs with attention, ahead of time: made here, run on a device, compared with the CPU.

    scripts/gpu/programs.py make FOLDER [--target=sm_90a,sm_100a] [--memory=device|managed] [NAME...]
    scripts/gpu/programs.py run FOLDER [--driver=LIBRARY] [--json=FILE]

`make` compiles test/Programs/NAME.mlir with stock tools and the plugin into executables, runs each program on this CPU
with the ops as linalg, and puts all that `run` needs into FOLDER, which may travel to another machine. `run` runs the
executables on the driver library (default: libfmha_mgpu.so's rule, a GPU if there is one) and compares. Exit status 0 if
all agree. NAME host-overhead is benchmark/HostOverhead.cpp with a kernel for each target: `run` prints its table, and writes
FILE, where there is a GPU. Needs build/ for `make` (with -DFMHA_BUILD_BENCHMARKS=ON for host-overhead), and nothing but
Python for `run`.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "test" / "Programs"
OVERHEAD = "host-overhead"
DEFAULT = ("dynamic", "packed", "sink", "bhsd", "loop", "splits", "decoder", OVERHEAD)
RUNNER_LIBRARIES = ("libmlir_runner_utils.so", "libmlir_c_runner_utils.so")


def shell(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def llvm_library_folder():
    return pathlib.Path(shell("llvm-config-22", "--libdir", capture_output=True, text=True).stdout.strip())


def make_overhead(folder, targets):
    program = ROOT / "build/bin" / OVERHEAD
    if not program.exists():
        sys.exit(f"no {program}; build the target host-overhead with -DFMHA_BUILD_BENCHMARKS=ON, or leave out {OVERHEAD}")
    for file in (program, ROOT / "build/lib/libFmhaStubDriver.so"):
        shutil.copy(file, folder)
    for target in targets.split(","):
        for kind, suffix in (("ptx", "ptx"), ("manifest", "json")):
            shell(ROOT / "build/bin/fmha-compile", f"--target={target}", "--head-dim=128", "--splits=1", f"--emit={kind}",
                  "-o", folder / f"{OVERHEAD}-{target}.{suffix}")  # fmt: skip
    print(f"made {OVERHEAD}", flush=True)


def run_overhead(folder, environment, json):
    kernels = [file for ptx in sorted(folder.glob(f"{OVERHEAD}-*.ptx")) for file in (ptx, ptx.with_suffix(".json"))]
    # The time of the simulator says nothing.
    if "ptxsim" in environment.get("FMHA_DRIVER", ""):
        print(f"{OVERHEAD}: not measured on the simulator", flush=True)
        return True
    flags = [f"--json={json}"] if json else []
    done = subprocess.run([folder / OVERHEAD, *flags, *kernels], env=environment)
    if done.returncode:
        print(f"{OVERHEAD}: FAILED (exit {done.returncode})", flush=True)
    return done.returncode == 0


def make(folder, names, targets, memory):
    folder.mkdir(parents=True, exist_ok=True)
    if OVERHEAD in names:
        make_overhead(folder, targets)
    names = [name for name in names if name != OVERHEAD]
    if not names:
        return
    runners = ",".join(str(llvm_library_folder() / name) for name in RUNNER_LIBRARIES)
    shutil.copy(ROOT / "build/lib/libfmha_mgpu.so", folder)
    shutil.copy(PROGRAMS / "Inputs/compare.py", folder)
    plugin = ROOT / "build/lib/FmhaPlugin.so"
    for name in names:
        text = (PROGRAMS / f"{name}.mlir").read_text()
        flags = re.search(r"compare\.py %t\.device %t\.cpu (.*)", text)[1]
        (folder / f"{name}.flags").write_text(flags)
        source = folder / f"{name}.mlir"
        source.write_text((PROGRAMS / "Inputs/prelude.mlir").read_text() + text)
        lowered = {}
        for kind, pipeline in (("device", f"fmha-program-to-llvm{{target={targets} memory={memory}}}"), ("cpu", "fmha-to-cpu")):
            lowered[kind] = shell(
                "mlir-opt-22", f"--load-dialect-plugin={plugin}", f"--load-pass-plugin={plugin}",
                f"--pass-pipeline=builtin.module({pipeline})", source, capture_output=True,
            ).stdout  # fmt: skip
        code = shell("mlir-translate-22", "--mlir-to-llvmir", input=lowered["device"], capture_output=True).stdout
        # A main that returns nothing has no exit status; support.c has one that calls it.
        (folder / f"{name}.ll").write_bytes(code.replace(b"define void @main()", b"define void @program()"))
        shell("clang-22", "-O2", "-Wno-override-module", folder / f"{name}.ll", PROGRAMS / "Inputs/support.c",
              folder / "libfmha_mgpu.so", "-Wl,-rpath,$ORIGIN", "-lm", "-o", folder / name)  # fmt: skip
        with open(folder / f"{name}.cpu", "wb") as out:
            shell("mlir-runner-22", "-e", "main", "--entry-point-result=void",
                  f"--shared-libs={runners}", input=lowered["cpu"], stdout=out)  # fmt: skip
        for unneeded in (source, folder / f"{name}.ll"):
            unneeded.unlink()
        print(f"made {name}", flush=True)


def run(folder, driver, json):
    environment = dict(os.environ)
    if driver:
        environment["FMHA_DRIVER"] = driver
    failed = 0
    programs = sorted(path.with_suffix("") for path in folder.glob("*.flags"))
    for program in programs:
        with open(program.with_suffix(".device"), "wb") as out:
            done = subprocess.run([program], stdout=out, env=environment)
        compared = subprocess.run(
            [sys.executable, folder / "compare.py", program.with_suffix(".device"), program.with_suffix(".cpu")]
            + program.with_suffix(".flags").read_text().split(),
        )
        ok = done.returncode == 0 and compared.returncode == 0
        failed += not ok
        print(f"{program.name}: {'equal' if ok else f'FAILED (exit {done.returncode})'}", flush=True)
    print(f"{len(programs) - failed} passed, {failed} failed", flush=True)
    if not (folder / OVERHEAD).exists():
        return 1 if failed or not programs else 0
    return 0 if run_overhead(folder, environment, json) and not failed else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("make", "run"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", default="sm_90a,sm_100a")
    parser.add_argument("--memory", choices=("device", "managed"), default="device")
    parser.add_argument("--driver")
    parser.add_argument("--json", type=pathlib.Path)
    flags = parser.parse_intermixed_args()
    folder = flags.folder.resolve()
    if flags.action == "run":
        return run(folder, flags.driver, flags.json)
    make(folder, flags.names or DEFAULT, flags.target, flags.memory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
