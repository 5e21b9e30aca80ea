#!/usr/bin/env bash
# Compiles a program for the device of FMHA_DRIVER to an executable, runs it, and
# reports what it allocates and does not free.
#
#   count.sh FILE FOLDER TARGETS [OPTION...]
#
# FMHA_PLUGIN, FMHA_MGPU and FMHA_LLVM_LIB say where things lie.
set -euo pipefail
here=$(dirname "$0")
file=$1 folder=$2
shift 2
mkdir -p "$folder"
# The runner calls main; here, support.c has the executable's.
sed 's/@main()/@program()/' "$file" |
  mlir-opt --load-dialect-plugin="$FMHA_PLUGIN" --load-pass-plugin="$FMHA_PLUGIN" \
    --pass-pipeline="builtin.module(fmha-program-to-llvm{target=$1 ${*:2}})" - |
  mlir-translate --mlir-to-llvmir -o "$folder/program.ll"
"${CC:-clang-22}" -O1 -Wno-override-module "$folder/program.ll" "$here/support.c" "$here/count.c" -o "$folder/program" \
  -Wl,--wrap=malloc,--wrap=free,--wrap=mgpuMemAlloc,--wrap=mgpuMemFree \
  "$FMHA_MGPU" -Wl,-rpath,"$(dirname "$FMHA_MGPU")" -lm
"$folder/program"
