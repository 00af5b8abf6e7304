#!/usr/bin/env bash
# Tests the wheels for AArch64 in clean installations of Debian 12 and 13 that qemu emulates, and
# compares the bits of results with those of build/venv's package on this machine, which must have
# fused multiply-add. Needs root, and a network once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly usage="usage: tools/packages/check_aarch64.sh
tests build/wheels/*_aarch64.whl
environment:
  SCANLOOM_SUITES          the versions of Debian to test on (default: bookworm trixie)
  SCANLOOM_DEBIAN_MIRROR   where Debian's packages are (default: debootstrap's)"
declare -rA pythons=([bookworm]=3.11 [trixie]=3.13)
readonly recorded=build/packages/same-bits

[[ "${1:-}" != -h && "${1:-}" != --help ]] || { printf '%s\n' "$usage"; exit 0; }
# shellcheck source=tools/packages/roots.sh
source tools/packages/roots.sh
require_root
compgen -G 'build/wheels/*_aarch64.whl' >/dev/null || {
  printf 'check_aarch64: build/wheels holds no wheel for AArch64: make wheel-aarch64 makes it\n' >&2
  exit 1
}

build/venv/bin/python demo/fetch_models.py >&2
rm -rf "$recorded"
build/venv/bin/python tools/packages/same_bits.py record "$recorded"
recordings=(build/cache/recordings/*.wav)
build/venv/bin/python examples/voice_detection.py build/cache/silero-vad/silero_vad.onnx \
  "${recordings[0]}" > "$recorded/speech.txt"

for suite in ${SCANLOOM_SUITES:-bookworm trixie}; do
  python="${pythons[$suite]}"
  make_aarch64_root "$suite-aarch64" "$suite" python3,python3-pip
  # NumPy's wheels are tagged with the oldest glibc that they run on.
  fetch_python_packages "$python" "build/packages/pip-$python-aarch64" 'numpy|ml_dtypes' \
    --platform=manylinux_2_{17,27,28,34}_aarch64
  printf '\n=== %s, AArch64: wheel, Python %s\n' "$suite" "$python"
  enter_aarch64 "$roots/$suite-aarch64" aarch64.sh "/project/build/packages/pip-$python-aarch64" \
    "/project/$recorded"
done
