# shellcheck shell=bash
# Clean installations of Debian for the tests of packages, in build/packages/roots; sourced by the
# scripts that check them. Needs root, and a network once.
readonly roots=build/packages/roots
# As the kernel takes it: a 64-bit little-endian ELF file, a program or a library, for AArch64.
readonly aarch64_magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
readonly aarch64_mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'

require_root() {
  [[ $EUID -eq 0 ]] && return
  printf '%s: only root can make and enter the installations\n' "$(basename "$0" .sh)" >&2
  exit 1
}

# is_made STAMP WHAT: whether the stamp says that exactly this was made.
is_made() { [[ -e "$1" && "$(<"$1")" == "$2" ]]; }

# bootstrap NAME SUITE PACKAGES OPTION...: debootstrap into a new folder build/packages/roots/NAME, in a
# mount namespace of its own: what it mounts there is gone when it ends, however it ends.
bootstrap() {
  local name="$1" suite="$2" packages="$3"
  shift 3
  rm -rf --one-file-system "${roots:?}/$name" "$roots/$name.made"
  mkdir -p "$roots"
  unshare --mount -- debootstrap --variant=minbase --include="$packages" "$@" "$suite" \
    "$roots/$name" ${SCANLOOM_DEBIAN_MIRROR:+"$SCANLOOM_DEBIAN_MIRROR"} >&2
}

# make_root NAME SUITE PACKAGES: installs Debian in build/packages/roots/NAME.
make_root() {
  is_made "$roots/$1.made" "$2 $3" && return
  bootstrap "$1" "$2" "$3"
  printf '%s\n' "$2 $3" > "$roots/$1.made"
}

# make_aarch64_root NAME SUITE PACKAGES: the same for AArch64. The packages are unpacked and not
# configured, which is enough to run programs, and would take much longer under emulation.
make_aarch64_root() {
  is_made "$roots/$1.made" "$2 $3" && return
  bootstrap "$1" "$2" "$3" --foreign --arch=arm64
  local archive
  for archive in "$roots/$1"/var/cache/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$archive" | tar -x --keep-directory-symlink -C "$roots/$1"
  done
  # pip reads this file even without a network; ca-certificates writes it when it is configured.
  cat "$roots/$1"/usr/share/ca-certificates/mozilla/*.crt > "$roots/$1/etc/ssl/certs/ca-certificates.crt"
  printf '%s\n' "$2 $3" > "$roots/$1.made"
}

# fetch_python_packages VERSION FOLDER NAMES OPTION...: the Python packages that match the expression
# NAMES, in the versions of the tests, for another Python than this one.
fetch_python_packages() {
  local version="$1" folder="$2" names="$3" pinned
  shift 3
  pinned="$(grep -hE "^($names)==" tools/dev/requirements-{test,build}.txt)"
  is_made "$folder/.complete" "$pinned" && return
  rm -rf "$folder"
  # shellcheck disable=SC2086  # a list of names
  build/venv/bin/python -m pip download -q --only-binary :all: --python-version "$version" "$@" \
    -d "$folder" $pinned
  printf '%s\n' "$pinned" > "$folder/.complete"
}

# enter ROOT SCRIPT ARGUMENT...: runs a script of tools/packages/in_root in a copy of the root that is
# discarded, without a network. The project is in /project; what is written there is lost as well.
enter() { enter_with '' "$@"; }

# enter_aarch64 ROOT SCRIPT ARGUMENT...: the same, emulated. The kernel is asked to start programs for
# AArch64 by qemu in this installation alone, which takes Linux 6.7; or all of the system does so, as
# when Debian's binfmt-support is installed with qemu-user-static.
enter_aarch64() { enter_with emulate "$@"; }

enter_with() {
  local emulate="$1" root="$2"
  shift 2
  unshare --mount --net --fork -- bash -euo pipefail -c '
    emulate="$1" root="$2" magic="$3" project="$PWD"
    shift 3
    scratch="$project/build/packages/roots/scratch"  # empty for all but this mount namespace
    mkdir -p "$scratch"
    mount -t tmpfs scratch "$scratch"
    mkdir -p "$scratch"/{top,work,all,project-top,project-work}
    mount -t overlay overlay -o "lowerdir=$project/$root,upperdir=$scratch/top,workdir=$scratch/work" \
      "$scratch/all"
    mkdir -p "$scratch/all/project" "$scratch/all/binfmt"
    mount -t overlay overlay "$scratch/all/project" \
      -o "lowerdir=$project,upperdir=$scratch/project-top,workdir=$scratch/project-work"
    mount -t proc proc "$scratch/all/proc"
    mount --rbind /dev "$scratch/all/dev"
    command=(chroot "$scratch/all" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
      LC_ALL=C.UTF-8 bash -Eeuo pipefail /project/tools/packages/in_root/run.sh "$@")
    [[ -n "$emulate" && ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]] || exec "${command[@]}"
    exec unshare --user --map-root-user --mount -- bash -euo pipefail -c '\''
      mount -t binfmt_misc binfmt "$1/binfmt"
      printf %s ":qemu-aarch64:M::$2:/usr/bin/qemu-aarch64-static:F" > "$1/binfmt/register"
      exec "${@:3}"'\'' bash "$scratch/all" "$magic" "${command[@]}"' \
    bash "$emulate" "$root" "$aarch64_magic:$aarch64_mask" "$@"
}
