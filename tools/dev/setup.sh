#!/usr/bin/env bash
# Installs the prerequisites of building, testing or the demo on Debian 12: packages with apt-get,
# Python packages in build/venv. Returns quickly if everything is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly usage="usage: tools/dev/setup.sh PART...
parts:
  build       compiler, CMake and the libraries that Scanloom is built with
  python      Python environment in build/venv, to build and install the Python package
  test        GoogleTest, clang-format and the Python packages of the tests
  long        the libraries that Scanloom is tested alongside, for make test-long
  sanitizers  Clang with its sanitizers and libFuzzer
  bench       Google Benchmark and the peers that are measured alongside Scanloom
  peers       the peers that the benchmarks can do without: JAX, Numba, oneDNN, OpenVINO, PyTensor,
              SciPy
  packages    what wheels and Debian packages are made and tested with
  aarch64     what wheels for AArch64 are built and tested with on another machine
  docs        MkDocs and its theme, for the site of documents
  browser     Chromium, in which the tests open the page of reports
  demo        recordings and the Python packages of the demo
environment:
  SCANLOOM_PYTHON          the interpreter of build/venv (default /usr/bin/python3)
  SCANLOOM_SKIP_PACKAGES   when 1, installs no Debian package and checks none"

readonly python_packages="python3 python3-venv python3-dev"
declare -A packages=(
  [build]="g++ cmake ninja-build lld ccache pkg-config libfmt-dev libhwy-dev libprotozero-dev libpugixml-dev libre2-dev
           libcli11-dev nlohmann-json3-dev zlib1g-dev llvm-19-dev libpng-dev libjpeg62-turbo-dev libtiff-dev
           libwebp-dev libopenjp2-7-dev node-d3 $python_packages"
  [python]="$python_packages"
  [test]="$python_packages git clang-format-19 libgtest-dev libgmock-dev pocketsphinx-testdata"
  [long]="$python_packages"
  [sanitizers]="clang-19 libclang-rt-19-dev"
  [bench]="$python_packages libbenchmark-dev"
  [peers]="$python_packages libdnnl2"
  [packages]="$python_packages dpkg-dev unzip debootstrap libzstd-dev"
  [aarch64]="$python_packages g++-aarch64-linux-gnu qemu-user-static binutils"
  [docs]="$python_packages"
  [browser]="chromium fonts-dejavu-core"
  [demo]="$python_packages pocketsphinx-testdata"
)
declare -A requirements=([build]=report [python]=build [test]=test [long]=long [bench]=demo
                          [peers]=peers [packages]=packages [docs]=docs [demo]=demo)

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }

is_installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

as_root() {
  if [[ $EUID -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

install_packages() {
  local missing=() package
  command -v dpkg-query >/dev/null ||
    fail "not a Debian machine; install the equivalents of these, then set" \
         "SCANLOOM_SKIP_PACKAGES=1: $*"
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [[ ${#missing[@]} -eq 0 ]] && return
  if [[ $EUID -ne 0 ]] && ! command -v sudo >/dev/null; then
    fail "these packages are missing and neither root nor sudo is at hand; as root, type:" \
         "apt-get install ${missing[*]}"
  fi
  if [[ $EUID -ne 0 && ! -t 0 ]] && ! sudo -n true 2>/dev/null; then
    fail "these packages are missing and sudo asks for a password, but there is no terminal;" \
         "as root, type: apt-get install ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  local options=(-q -o DPkg::Lock::Timeout=300)
  as_root apt-get update "${options[@]}" >&2 ||
    say "apt-get update failed; trying with the package lists that are here"
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${options[@]}" "${missing[@]}" >&2 ||
    fail "apt-get could not install ${missing[*]} (a network is needed once)"
}

# A stamp records what was installed and where; a change of either triggers a new installation.
fingerprint() {
  { pwd; cat tools/dev/requirements-build.txt "$1"; } | sha256sum | cut -d' ' -f1
}

# Prints the file that lists the Python packages of a part. What the page of reports needs is pinned in
# pyproject.toml, from where pip takes it to build the package.
requirements_file() {
  local file="tools/dev/requirements-$1.txt"
  if [[ "$1" == report ]]; then
    file=build/requirements-report.txt
    grep -o 'netron==[0-9.]*' pyproject.toml > "$file.$$" || fail "pyproject.toml does not pin netron"
    mv "$file.$$" "$file"  # at once, since another setup.sh may read it now
  fi
  printf '%s\n' "$file"
}

install_requirements() {
  local file stamp="build/venv/.installed-$1"
  file="$(requirements_file "$1")"
  [[ -f "$stamp" && "$(<"$stamp")" == "$(fingerprint "$file")" ]] && return
  say "installing the Python packages of $file in build/venv"
  if ! build/venv/bin/python -m pip install -q --disable-pip-version-check -r "$file" >&2; then
    [[ "$1" == report ]] || fail "pip could not install $file (a network is needed once)"
    say "pip could not install $file: the library will write no pages of reports"
    return
  fi
  fingerprint "$file" > "$stamp"
}

make_venv() {
  local python="${SCANLOOM_PYTHON:-/usr/bin/python3}"
  build/venv/bin/python -c 'import pip' 2>/dev/null && return
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "$python is missing or older than Python 3.11"
  say "making build/venv with $python"
  "$python" -m venv --clear build/venv || fail "$python cannot make build/venv"
}

main() {
  local part wanted=() files=()
  [[ $# -gt 0 ]] || { printf '%s\n' "$usage" >&2; exit 2; }
  for part in "$@"; do
    case "$part" in
      -h | --help) printf '%s\n' "$usage"; exit 0 ;;
      build | python | test | long | sanitizers | bench | peers | packages | aarch64 | docs | browser | demo) ;;
      *) printf '%s\n' "$usage" >&2; fail "'$part' is not a part" ;;
    esac
    # The lists hold only package names, so word splitting is intended.
    # shellcheck disable=SC2206
    wanted+=(${packages[$part]})
    [[ -n "${requirements[$part]:-}" ]] && files+=("${requirements[$part]}")
  done
  [[ "${SCANLOOM_SKIP_PACKAGES:-0}" == 1 ]] || install_packages "${wanted[@]}"
  [[ ${#files[@]} -eq 0 ]] && return
  make_venv
  for part in "${files[@]}"; do install_requirements "$part"; done
}

main "$@"
