#!/usr/bin/env bash
# Fetches what the packages are built from and no installed package contains, into build/packages.
# What is there already is left alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly usage="usage: tools/packages/fetch.sh PART...
parts:
  re2             the source of Debian 12's RE2, in build/packages/re2
  python          the headers of Debian 13's Python, for the stable ABI, in build/packages/python
  aarch64         Debian 12's libraries for AArch64, in build/packages/aarch64
  python-aarch64  the headers of Debian 12's and 13's Python for AArch64, in
                  build/packages/python-aarch64/bookworm and /trixie
environment:
  SCANLOOM_DEBIAN_MIRROR   where Debian's packages are (default: that of the system)"

readonly folder="$PWD/build/packages"
readonly keyring=/usr/share/keyrings/debian-archive-keyring.gpg

fail() { printf 'fetch: %s\n' "$*" >&2; exit 1; }

# mirror VARIABLE: sets it to the address of Debian's packages that apt itself uses.
mirror() {
  local -n address="$1"
  address="${SCANLOOM_DEBIAN_MIRROR:-}"
  [[ -n "$address" ]] ||
    address="$(apt-get indextargets --format '$(SITE)' 'Origin: Debian' | awk '!/security/ && !n++')"
  [[ -n "$address" ]] || fail "apt knows no mirror of Debian; set SCANLOOM_DEBIAN_MIRROR"
}

# apt-get with lists of its own, so that the system's stay as they are:
# with_sources NAME 'LINE OF SOURCES' ARCHITECTURE COMMAND...
with_sources() {
  local state="$folder/apt-$1" line="$2" architecture="$3"
  shift 3
  mkdir -p "$state/lists/partial" "$state/archives/partial"
  printf '%s\n' "$line" > "$state/sources.list"
  [[ -e "$state/status" ]] || : > "$state/status"
  local options=(-q -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$state/lists" -o "Dir::State::status=$state/status"
    -o "Dir::Cache::archives=$state/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
    -o APT::Sandbox::User=root)
  # Without this setting, lists that cannot be fetched are only a warning.
  if [[ ! -e "$state/updated" ]]; then
    apt-get "${options[@]}" -o APT::Update::Error-Mode=any update >&2 || return
    : > "$state/updated"
  fi
  apt-get "${options[@]}" "$@" >&2
}

# The version of RE2's headers and tables that are installed, less Debian's rebuilds (+b1).
fetch_re2() {
  local version site sources="$folder/re2-source" stamp="$folder/re2.version"
  version="$(dpkg-query -W -f '${source:Version}' libre2-dev)" || fail "libre2-dev is not installed"
  [[ -e "$folder/re2/re2/re2.h" && -e "$stamp" && "$(<"$stamp")" == "$version" ]] && return
  mirror site
  rm -rf "$sources" "$folder/re2"
  mkdir -p "$sources"
  (cd "$sources" &&
    with_sources source "deb-src [signed-by=$keyring] $site bookworm main" \
      "$(dpkg --print-architecture)" source --download-only "re2=$version" &&
    dpkg-source --extract "re2_$version.dsc" "$folder/re2" >&2)
  printf '%s\n' "$version" > "$stamp"
}

# unpack DOWNLOADS TARGET: the archives that were downloaded; the target is there when it is complete.
unpack() {
  local archive new="$2.new"
  rm -rf "$new" "$2"
  mkdir -p "$new"
  for archive in "$1"/*.deb; do dpkg-deb --extract "$archive" "$new"; done
  mv "$new" "$2"
}

# download NAME 'LINE OF SOURCES' ARCHITECTURE FOLDER PACKAGE...: the archives of packages, alone in a
# folder.
download() {
  local name="$1" line="$2" architecture="$3" into="$4"
  shift 4
  rm -rf "$into"
  mkdir -p "$into"
  (cd "$into" && with_sources "$name" "$line" "$architecture" download "$@")
}

# fetch_headers SUITE VERSION ARCHITECTURE FOLDER: the headers of a suite's Python.
fetch_headers() {
  local suite="$1" version="$2" architecture="$3" target="$4" site
  [[ -e "$target/usr/include/python$version/Python.h" ]] && return
  local downloads="$folder/python-archives/$suite-$architecture"
  mirror site
  download "$suite-$architecture" "deb [signed-by=$keyring] $site $suite main" "$architecture" \
    "$downloads" "libpython$version-dev"
  unpack "$downloads" "$target"
}

fetch_python() { fetch_headers trixie 3.13 "$(dpkg --print-architecture)" "$folder/python"; }

fetch_python_aarch64() {
  fetch_headers bookworm 3.11 arm64 "$folder/python-aarch64/bookworm"
  fetch_headers trixie 3.13 arm64 "$folder/python-aarch64/trixie"
}

readonly aarch64_packages="libfmt-dev libhwy-dev libhwy1 libpugixml-dev libpugixml1v5 libre2-dev
  zlib1g-dev libzstd-dev libprotozero-dev libcli11-dev nlohmann-json3-dev
  llvm-19 llvm-19-dev llvm-19-tools llvm-19-linker-tools libllvm19"

fetch_aarch64() {
  [[ -e "$folder/aarch64/usr/lib/llvm-19" ]] && return
  local downloads="$folder/aarch64-archives" site
  mirror site
  # shellcheck disable=SC2086  # the list holds only names of packages
  download bookworm-arm64 "deb [signed-by=$keyring] $site bookworm main" arm64 "$downloads" \
    $aarch64_packages
  unpack "$downloads" "$folder/aarch64"
}

[[ $# -gt 0 ]] || { printf '%s\n' "$usage" >&2; exit 2; }
for part in "$@"; do
  case "$part" in
    -h | --help) printf '%s\n' "$usage" ;;
    re2 | python | aarch64 | python-aarch64) "fetch_${part//-/_}" ;;
    *) printf '%s\n' "$usage" >&2; fail "'$part' is not a part" ;;
  esac
done
