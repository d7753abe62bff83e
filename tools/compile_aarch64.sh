#!/usr/bin/env bash
# Compile the portable core for aarch64 Linux, on any machine, to objects only: shows that no
# source has come to depend on x86. Needs the packages ziglang and nanobind:
#   PYTHON=path/to/python tools/compile_aarch64.sh
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
export ZIG_GLOBAL_CACHE_DIR="$objects/cache" ZIG_LOCAL_CACHE_DIR="$objects/cache"
include=$("$python" -c "import nanobind, sysconfig; print(sysconfig.get_path('include'), nanobind.include_dir())")
# The flags are those of CMakeLists.txt for the portable set.
flags="-target aarch64-linux-gnu.2.28 -std=c++17 -O3 -fPIC -fvisibility=hidden -Wall -Wextra
       -fno-math-errno -fno-trapping-math -ffp-contract=fast -DSHIFTLEARN_ISA=portable"
for directory in $include; do flags="$flags -isystem $directory"; done
export python flags objects
find "$root/src/core" -name '*.cpp' -print0 | xargs -0 -P "$(nproc)" -I{} bash -c \
  'set -e; "$python" -m ziglang c++ $flags -c "$1" -o "$objects/$(basename "$1").o"' _ {}
ls "$objects"/*.o | wc -l | xargs -I{} echo "{} sources compiled for aarch64"
