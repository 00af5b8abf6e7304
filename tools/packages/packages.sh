#!/usr/bin/env bash
# Makes the Debian packages and the relocatable archive from a portable build and its wheels, in the
# folder packages of the build tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly usage="usage: tools/packages/packages.sh [BUILD_TREE]
makes .deb packages and a .tar.gz of a portable build (default build/portable) and of build/wheels"

[[ "${1:-}" != -h && "${1:-}" != --help ]] || { printf '%s\n' "$usage"; exit 0; }
readonly tree="${1:-build/portable}"
readonly package="$tree/python-package"
compgen -G "build/wheels/*-abi3-*.whl" >/dev/null || {
  printf 'packages: build/wheels holds no wheel: make wheel makes it\n' >&2
  exit 1
}

# One package holds both extensions: each Python imports the one that is for it.
rm -rf "$package" "$tree/packages"
for wheel in build/wheels/*.whl; do
  unzip -q -o "$wheel" 'scanloom/*' -x 'scanloom/bin/*' 'scanloom/lib/*' 'scanloom/include/*' \
    'scanloom/share/*' -d "$package"
  unzip -q -o "$wheel" 'scanloom/share/doc/*/nanobind' 'scanloom/share/doc/*/robin-map' -d "$package"
done
(cd "$tree" && cpack -G DEB && cpack -G TGZ)
rm -rf "$tree/packages/_CPack_Packages"
ls -l "$tree/packages"
