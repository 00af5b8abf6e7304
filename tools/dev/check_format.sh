#!/usr/bin/env bash
# Checks the formatting of the C++ sources with clang-format-19, or restores it with --fix.
set -euo pipefail
readonly usage='usage: tools/dev/check_format.sh [--fix] [--root FOLDER]'
root="$(dirname "${BASH_SOURCE[0]}")/../.."
mode=(--dry-run -Werror)
while [[ $# -gt 0 ]]; do
  case "$1" in
    --fix) mode=(-i) ;;
    --root) shift; root="${1:?$usage}" ;;
    -h | --help) printf '%s\n' "$usage"; exit 0 ;;
    *) printf '%s\n' "$usage" >&2; exit 2 ;;
  esac
  shift
done
cd "$root"

folders=()
for folder in include src tools tests bench examples python; do
  [[ -d "$folder" ]] && folders+=("$folder")
done
[[ ${#folders[@]} -gt 0 ]] || { printf 'format: no folder of sources in %s\n' "$root" >&2; exit 2; }
command -v clang-format-19 >/dev/null ||
  { printf 'format: clang-format-19 is missing; type: tools/dev/setup.sh test\n' >&2; exit 2; }

mapfile -d '' -t sources < <(find "${folders[@]}" \( -name '*.h' -o -name '*.cpp' -o -name '*.c' \) -print0 | sort -z)
if [[ ${#sources[@]} -gt 0 ]]; then
  printf '%s\0' "${sources[@]}" | xargs -0 -n 20 -P 2 clang-format-19 "${mode[@]}" || {
    printf 'format: not as .clang-format has it; type: make format\n' >&2
    exit 1
  }
fi
printf 'format: %d files: ok\n' "${#sources[@]}"
