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
readonly roots=build/packages/roots
declare -rA pythons=([bookworm]=3.11 [trixie]=3.13)

[[ "${1:-}" != -h && "${1:-}" != --help ]] || { printf '%s\n' "$usage"; exit 0; }
readonly tree="${1:-build/portable}"
if [[ $EUID -ne 0 ]]; then
  printf 'check_roots: only root can make and enter the installations\n' >&2
  exit 1
fi

# make_root NAME SUITE PACKAGES: installs Debian in build/packages/roots/NAME.
make_root() {
  [[ -e "$roots/$1.made" ]] && return
  rm -rf "${roots:?}/$1"
  mkdir -p "$roots"
  debootstrap --variant=minbase --include="$3" "$2" "$roots/$1" \
    ${SCANLOOM_DEBIAN_MIRROR:+"$SCANLOOM_DEBIAN_MIRROR"} >&2
  : > "$roots/$1.made"
}

# fetch_python_packages VERSION: the Python packages that the tests import, for another Python than
# this one.
fetch_python_packages() {
  local version="$1" pinned
  [[ -e "build/packages/pip-$version/.complete" ]] && return
  pinned="$(grep -hE '^(numpy|onnx|onnxruntime|ml_dtypes|pytest|hypothesis)==' \
    tools/dev/requirements-{test,build}.txt)"
  # shellcheck disable=SC2086  # a list of names
  build/venv/bin/python -m pip download -q --only-binary :all: --python-version "$version" \
    -d "build/packages/pip-$version" $pinned
  : > "build/packages/pip-$version/.complete"
}

# enter ROOT SCRIPT ARGUMENT...: runs a script of tools/packages/in_root in a copy of the root that is
# discarded, without a network. The project is in /project; what is written there is lost as well.
enter() {
  local root="$1"
  shift
  unshare --mount --net --fork -- bash -euo pipefail -c '
    root="$1" project="$PWD"
    shift
    scratch="$(mktemp -d)"
    mount -t tmpfs scratch "$scratch"
    mkdir -p "$scratch"/{top,work,all,project-top,project-work}
    mount -t overlay overlay -o "lowerdir=$project/$root,upperdir=$scratch/top,workdir=$scratch/work" \
      "$scratch/all"
    mkdir "$scratch/all/project"
    mount -t overlay overlay "$scratch/all/project" \
      -o "lowerdir=$project,upperdir=$scratch/project-top,workdir=$scratch/project-work"
    mount -t proc proc "$scratch/all/proc"
    mount --rbind /dev "$scratch/all/dev"
    exec chroot "$scratch/all" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
      bash -euo pipefail "/project/tools/packages/in_root/$1" "${@:2}"' bash "$root" "$@"
}

build/venv/bin/python demo/fetch_models.py >&2
for suite in ${SCANLOOM_SUITES:-bookworm trixie}; do
  python="${pythons[$suite]}"
  make_root "$suite" "$suite" python3,python3-venv,python3-pip
  make_root "$suite-dev" "$suite" g++,cmake,make,pkg-config,python3-numpy
  fetch_python_packages "$python"
  printf '\n=== %s: wheel, Python %s\n' "$suite" "$python"
  enter "$roots/$suite" wheel.sh "/project/build/packages/pip-$python"
  printf '\n=== %s: packages\n' "$suite"
  enter "$roots/$suite-dev" packages.sh "/project/$tree/packages"
done
