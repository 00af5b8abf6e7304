#!/usr/bin/env bash
# Makes the wheels from a portable build, in build/wheels: one for this Python, and one for the stable
# ABI, which later Pythons install. Ends with their sizes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly usage="usage: tools/packages/wheels.sh [BUILD_TREE]
makes the wheels of a portable build (default build/portable) in build/wheels"
readonly max_bytes=$((25 * 1000 * 1000))  # as docs/releasing.md promises
readonly policy="manylinux_2_34_$(uname -m)"
readonly stable_since=cp312
readonly headers=build/packages/python/usr
readonly made=build/packages/wheels

[[ "${1:-}" != -h && "${1:-}" != --help ]] || { printf '%s\n' "$usage"; exit 0; }
readonly tree="${1:-build/portable}"
[[ -e "$tree/lib/libscanloom.so.0" ]] || {
  printf 'wheels: %s holds no lib/libscanloom.so.0: make wheel builds it\n' "$tree" >&2
  exit 1
}
PATH="$PWD/build/venv/bin:$PATH"

# make_wheel NAME SETTING...: a wheel as pip builds it, in a folder of its own.
make_wheel() {
  local name="$1" setting settings=()
  shift
  for setting in "build-dir=build/packages/extension-$name" \
    "cmake.define.SCANLOOM_LIBRARY_DIR=$tree" cmake.define.SCANLOOM_PORTABLE=ON "$@"; do
    settings+=("--config-settings=$setting")
  done
  rm -rf "${made:?}/$name"
  python -m pip wheel -q --no-deps --no-build-isolation -w "$made/$name" "${settings[@]}" .
}

# finish NAME: checks what the libraries need of the platform, and names the wheel after it.
finish() {
  auditwheel repair -z 9 --plat "$policy" --only-plat -w build/wheels "$made/$1"/*.whl
}

make_wheel this
make_wheel stable "cmake.define.SCANLOOM_STABLE_ABI_HEADERS=$headers" "wheel.py-api=$stable_since"
# The Python that builds is older than the stable ABI, so the wheel is named after itself.
wheel tags --remove --python-tag "$stable_since" --abi-tag abi3 "$made"/stable/*.whl >/dev/null
unzip -q -o -j "$made"/stable/*.whl scanloom/_native.abi3.so -d "$made/audit"
abi3audit --strict --assume-minimum-abi3 3.12 "$made/audit/_native.abi3.so"

rm -rf build/wheels
finish this
finish stable
for wheel in build/wheels/*.whl; do
  bytes="$(stat -c %s "$wheel")"
  printf '%s  %s bytes\n' "$wheel" "$bytes"
  ((bytes <= max_bytes)) || { printf 'wheels: larger than %d bytes\n' "$max_bytes" >&2; exit 1; }
done
