"""Assembles PTX files of a folder on the GPU host, all at once where ptxas is there: the driver does one after the other."""

import concurrent.futures
import os
import shutil
import subprocess


def complaint(ptxas, source, cubin):
    """What ptxas says about a kernel that spills registers or waits after each wgmma, else nothing."""
    command = [ptxas, "-arch=sm_90a", "-v", source, "-o", cubin]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    said = done.stdout + done.stderr
    is_fine = "0 bytes spill stores, 0 bytes spill loads" in said and "serializ" not in said
    return "" if is_fine else said


def assemble(folder, names):
    """Returns the names of kernels that spill registers or wait after each wgmma."""
    ptxas, spilled = shutil.which("ptxas"), []
    if not ptxas:
        return spilled
    wanted = [name for name in names if not (folder / f"{name}.cubin").exists()]

    def one(name):
        said = complaint(ptxas, folder / f"{name}.ptx", folder / f"{name}.cubin")
        if said:
            print(f"{name}: {said}")
            spilled.append(name)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, wanted))
    return spilled
