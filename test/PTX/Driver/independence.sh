#!/bin/sh
# The simulator judges the compiler, so it shares nothing with it:
#   independence.sh <source root> <library or program>...
# fails if a binary needs LLVM or MLIR, if libptxsim.so exports anything but
# the API, or if a file of the simulator includes a header of another room.
root=$1
shift
failures=0
fail() {
  echo "$1" >&2
  failures=1
}

for binary in "$@"; do
  needed=$(readelf -d "$binary") || fail "cannot read $binary"
  echo "$needed" | grep -q NEEDED || fail "$binary names no library: is it ELF?"
  if echo "$needed" | grep NEEDED | grep -i -E 'LLVM|MLIR'; then
    fail "$binary links LLVM or MLIR"
  fi
  if ldd "$binary" | grep -i -E 'libLLVM|libMLIR'; then
    fail "$binary reaches LLVM or MLIR"
  fi
  case $binary in
  *.so*)
    exported=$(readelf -W --dyn-syms "$binary" |
      awk '$7 != "UND" && ($5 == "GLOBAL" || $5 == "WEAK") { print $8 }')
    echo "$exported" | grep -q '^cuInit$' || fail "$binary lacks cuInit"
    if echo "$exported" | grep -v -E '^(cu[A-Z]|ptxsim[A-Z])'; then
      fail "$binary exports more than the API"
    fi
    ;;
  esac
done

# Quoted includes are the project's: beside the file, in a folder of its library, or
# under fmha/PTX.
foreign=$(grep -rn -E '#include "fmha/|#include <(llvm|mlir|fmha)' \
  "$root/lib/PTX" "$root/include/fmha/PTX" "$root/tools/ptx-sim" |
  grep -v '#include "fmha/PTX/')
if [ -n "$foreign" ]; then
  echo "$foreign" >&2
  fail "the simulator includes headers of other rooms"
fi
climbing=$(grep -rn -E '#include "\.\./\.\./' \
  "$root/lib/PTX" "$root/include/fmha/PTX" "$root/tools/ptx-sim")
[ -z "$climbing" ] || fail "includes that climb out of the room: $climbing"
linked=$(grep -rn -E 'LLVM|MLIR|Fmha[A-Z]|LINK_LIBS.*(Layout|Schedule|Pipeline)' \
  --include=CMakeLists.txt "$root/lib/PTX" "$root/tools/ptx-sim")
[ -z "$linked" ] || fail "the simulator's build names other rooms: $linked"
exit $failures
