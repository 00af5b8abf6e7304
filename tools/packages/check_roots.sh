#!/usr/bin/env bash
# Tests the wheels and the Debian packages in clean installations of Debian 12 and 13: the wheels
# without a compiler, LLVM or headers, the packages with a compiler and none of Scanloom's own
# dependencies. Needs root, and a network once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly usage="usage: tools/packages/check_roots.sh [BUILD_TREE]
tests build/wheels and the packages of a build tree (default build/portable)
environment:
  SCANLOOM_SUITES          the versions of Debian to test on (default: bookworm trixie)
  SCANLOOM_DEBIAN_MIRROR   where Debian's packages are (default: debootstrap's)"
declare -rA pythons=([bookworm]=3.11 [trixie]=3.13)

[[ "${1:-}" != -h && "${1:-}" != --help ]] || { printf '%s\n' "$usage"; exit 0; }
readonly tree="${1:-build/portable}"
# shellcheck source=tools/packages/roots.sh
source tools/packages/roots.sh
require_root

build/venv/bin/python demo/fetch_models.py >&2
for suite in ${SCANLOOM_SUITES:-bookworm trixie}; do
  python="${pythons[$suite]}"
  make_root "$suite" "$suite" python3,python3-venv,python3-pip
  make_root "$suite-dev" "$suite" g++,cmake,make,pkg-config,python3-numpy
  fetch_python_packages "$python" "build/packages/pip-$python" \
    'numpy|onnx|onnxruntime|ml_dtypes|pytest|hypothesis'
  printf '\n=== %s: wheel, Python %s\n' "$suite" "$python"
  enter "$roots/$suite" wheel.sh "/project/build/packages/pip-$python"
  printf '\n=== %s: packages\n' "$suite"
  enter "$roots/$suite-dev" packages.sh "/project/$tree/packages"
done
