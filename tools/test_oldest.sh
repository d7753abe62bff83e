#!/usr/bin/env bash
# The tests with the oldest supported versions, in a fresh environment. Further arguments go to pytest:
#   PYTHON=path/to/python3.11 tools/test_oldest.sh [arguments]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3.11}
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
"$python" -m venv "$environment"
"$environment/bin/pip" install -q -c tools/constraints-oldest.txt ".[test]"
"$environment/bin/pip" freeze | grep -iE '^(numpy|scipy|scikit-learn|pandas|polars|pyarrow|joblib)=='
"$environment/bin/pytest" "$@"
