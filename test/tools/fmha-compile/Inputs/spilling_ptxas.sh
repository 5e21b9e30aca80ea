#!/bin/sh
# A ptxas that spills kernels with two query tiles, and with SPILL=all any.
# Usage: spilling_ptxas.sh -arch=... -v -o CUBIN PTX
: > "$4"
bytes=0
grep -q "schedule: q_tiles=${SPILL:-2} " "$5" && bytes=16
[ "$SPILL" = all ] && bytes=16
echo "ptxas info    : 0 bytes stack frame, $bytes bytes spill stores, $bytes bytes spill loads"
echo "ptxas info    : Used 128 registers"
