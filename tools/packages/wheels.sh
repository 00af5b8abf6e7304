#!/usr/bin/env bash
# Makes the wheels from a portable build, in build/wheels: one for Debian 12's Python, and one for the
# stable ABI, which later Pythons install. Ends with their sizes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly usage="usage: tools/packages/wheels.sh [BUILD_TREE]
makes the wheels of a portable build (default build/portable, or build/portable-aarch64) in build/wheels"
readonly max_bytes=$((25 * 1000 * 1000))  # as docs/releasing.md promises
readonly stable_since=cp312

[[ "${1:-}" != -h && "${1:-}" != --help ]] || { printf '%s\n' "$usage"; exit 0; }
readonly tree="${1:-build/portable}"
readonly library="$tree/lib/libscanloom.so.0"
fail() { printf 'wheels: %s\n' "$*" >&2; exit 1; }
[[ -e "$library" ]] || fail "$tree holds no lib/libscanloom.so.0: make wheel builds it"
PATH="$PWD/build/venv/bin:$PATH"

# The machine that the wheels are for, and what compiles the extension for it.
case "$(readelf --file-header "$library")" in
  *AArch64*)
    readonly machine=aarch64 headers=build/packages/python-aarch64/trixie/usr
    readonly cross=("cmake.define.CMAKE_TOOLCHAIN_FILE=$PWD/cmake/aarch64.cmake")
    readonly this=(cmake.define.SCANLOOM_PYTHON_HEADERS=build/packages/python-aarch64/bookworm/usr)
    ;;
  *)
    machine="$(uname -m)"
    readonly machine headers=build/packages/python/usr cross=() this=()
    ;;
esac
readonly policy=manylinux_2_34 made="build/packages/wheels-$machine"

# make_wheel NAME SETTING...: a wheel as pip builds it, in a folder of its own.
make_wheel() {
  local name="$1" setting settings=()
  shift
  for setting in "build-dir=build/packages/extension-$machine-$name" \
    "cmake.define.SCANLOOM_LIBRARY_DIR=$tree" cmake.define.SCANLOOM_PORTABLE=ON "${cross[@]}" "$@"; do
    settings+=("--config-settings=$setting")
  done
  rm -rf "${made:?}/$name"
  python -m pip wheel -q --no-deps --no-build-isolation -w "$made/$name" "${settings[@]}" .
  # pip names it after the machine and the Python that build.
  wheel tags --remove --platform-tag "linux_$machine" "$made/$name"/*.whl >/dev/null
}

# finish NAME: checks what the libraries need of the platform, and names the wheel after it. auditwheel
# accepts a policy only for the machine that it runs on; for another one it finds the policy itself.
finish() {
  local platform="${policy}_$machine"
  [[ "$machine" == "$(uname -m)" ]] || platform=auto
  auditwheel repair -z 9 --plat "$platform" --only-plat -w build/wheels "$made/$1"/*.whl
}

make_wheel this "${this[@]}"
make_wheel stable "cmake.define.SCANLOOM_PYTHON_HEADERS=$headers" "wheel.py-api=$stable_since"
wheel tags --remove --python-tag "$stable_since" --abi-tag abi3 "$made"/stable/*.whl >/dev/null
unzip -q -o -j "$made"/stable/*.whl scanloom/_native.abi3.so -d "$made/audit"
abi3audit --strict --assume-minimum-abi3 3.12 "$made/audit/_native.abi3.so"

rm -f build/wheels/*"_$machine.whl"
finish this
finish stable
for wheel in build/wheels/*"_$machine.whl"; do
  [[ "$wheel" == *"-${policy}_$machine.whl" ]] || fail "$wheel is not for $policy"
  bytes="$(stat -c %s "$wheel")"
  printf '%s  %s bytes\n' "$wheel" "$bytes"
  ((bytes <= max_bytes)) || fail "larger than $max_bytes bytes"
done
