#!/usr/bin/env bash
# Makes the Debian packages and the relocatable archive from a portable build and its wheels, in the
# folder packages of the build tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly usage="usage: tools/packages/packages.sh [BUILD_TREE]
makes .deb packages and a .tar.gz of a portable build (default build/portable) and of build/wheels
environment:
  DEBFULLNAME, DEBEMAIL   the maintainer whom the .deb packages name"

[[ "${1:-}" != -h && "${1:-}" != --help ]] || { printf '%s\n' "$usage"; exit 0; }
readonly tree="${1:-build/portable}"
readonly package="$tree/python-package"
machine="$(uname -m)"
readonly machine
compgen -G "build/wheels/*-abi3-*_$machine.whl" >/dev/null || {
  printf 'packages: build/wheels holds no wheel for %s: make wheel makes it\n' "$machine" >&2
  exit 1
}

# One package holds both extensions: each Python imports the one that is for it.
rm -rf "$package" "$tree/packages"
for wheel in build/wheels/*"_$machine.whl"; do
  unzip -q -o "$wheel" 'scanloom/*' -x 'scanloom/bin/*' 'scanloom/lib/*' 'scanloom/include/*' \
    'scanloom/share/*' -d "$package"
  unzip -q -o "$wheel" 'scanloom/share/doc/*/nanobind' 'scanloom/share/doc/*/robin-map' -d "$package"
done
if [[ -z "${DEBEMAIL:-}" ]]; then
  printf 'packages: these name no maintainer: set DEBFULLNAME and DEBEMAIL for those to be published\n' >&2
fi
export DEBFULLNAME="${DEBFULLNAME:-Unpublished build}" DEBEMAIL="${DEBEMAIL:-nobody@scanloom.invalid}"
(cd "$tree" && cpack -G DEB && cpack -G TGZ)
rm -rf "$tree/packages/_CPack_Packages"
ls -l "$tree/packages"
