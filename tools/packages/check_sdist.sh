#!/usr/bin/env bash
# Tests the source distribution: pip builds and installs it in a new environment, with the build
# requirements that it names and without this tree's settings; then it runs a loop. Needs a network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly usage="usage: tools/packages/check_sdist.sh [BUILD_TREE]
tests build/wheels/scanloom-*.tar.gz; with a build tree, only the extension is compiled, and the
library of that tree is taken, after all of the sources were configured
environment:
  SCANLOOM_PYTHON   the interpreter that installs it (default /usr/bin/python3)"
readonly scratch=build/packages/sdist

[[ "${1:-}" != -h && "${1:-}" != --help ]] || { printf '%s\n' "$usage"; exit 0; }
readonly tree="${1:-}"
sdists=(build/wheels/scanloom-*.tar.gz)
readonly sdist="${sdists[0]}"
[[ -e "$sdist" && ${#sdists[@]} -eq 1 ]] || {
  printf 'check_sdist: build/wheels must hold one source distribution: make sdist makes it\n' >&2
  exit 1
}

rm -rf "$scratch"
mkdir -p "$scratch"
"${SCANLOOM_PYTHON:-/usr/bin/python3}" -m venv "$scratch/venv"
settings=()
if [[ -n "$tree" ]]; then
  tar -xf "$sdist" -C "$scratch"
  cmake -S "$scratch"/scanloom-* -B "$scratch/configured" -G Ninja --log-level=WARNING \
    -DSCANLOOM_BUILD_TESTS=OFF
  settings=("--config-settings=cmake.define.SCANLOOM_LIBRARY_DIR=$PWD/$tree"
    "--config-settings=cmake.define.SCANLOOM_PACKAGE_PARTS=library")
fi
"$scratch/venv/bin/python" -m pip install -q --disable-pip-version-check "${settings[@]}" "$sdist"
cd "$scratch"
venv/bin/python ../../../tools/packages/in_root/loops.py means.onnx
venv/bin/python -c 'import scanloom; scanloom.print_environment()'
printf 'sdist: ok\n'
