#!/usr/bin/env bash
# Build the compiled core into src/shiftlearn for development (fast, incremental):
#   PYTHON=path/to/python tools/build_inplace.sh
# then run with PYTHONPATH=src. An ordinary `pip install -e .` works too.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
tag=$("$python" -c "import sys; print(f'cp{sys.version_info[0]}{sys.version_info[1]}')")
build="$root/build/inplace-$tag"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$("$python" -c 'import sys; print(sys.executable)')" >/dev/null
cmake --build "$build"
cp "$build"/_core*.so "$root/src/shiftlearn/"
