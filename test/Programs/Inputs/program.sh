#!/usr/bin/env bash
# Compiles a program with stock tools and the plugin, and runs its main.
#
#   program.sh device FILE TARGETS [OPTION...]    kernels on the device of FMHA_DRIVER
#   program.sh cpu FILE                           the ops as linalg, on this CPU
#
# FMHA_PLUGIN, FMHA_MGPU and FMHA_LLVM_LIB say where things lie.
set -euo pipefail
kind=$1 file=$2
shift 2
libraries="$FMHA_LLVM_LIB/libmlir_c_runner_utils.so,$FMHA_LLVM_LIB/libmlir_runner_utils.so"
if [[ $kind == device ]]; then
  pipeline="fmha-program-to-llvm{target=$1 ${*:2}}"
  libraries="$FMHA_MGPU,$libraries"
else
  pipeline=fmha-to-cpu
fi
mlir-opt --load-dialect-plugin="$FMHA_PLUGIN" --load-pass-plugin="$FMHA_PLUGIN" \
  --pass-pipeline="builtin.module($pipeline)" "$file" |
  mlir-runner -e main --entry-point-result=void --shared-libs="$libraries"
