# shellcheck shell=bash
# run.sh SCRIPT ARGUMENT...: runs a script of this folder in a clean installation, and names the command
# that fails. Run by roots.sh, with the shell options -Eeuo pipefail.
trap 'printf "%s: line %s failed: %s\n" "${BASH_SOURCE[0]##*/}" "$LINENO" "$BASH_COMMAND" >&2' ERR
cd /project || exit

# first_recording: the speech that the examples are run on.
first_recording() {
  local recordings=(build/cache/recordings/*.wav)
  printf '%s\n' "${recordings[0]}"
}

# expect_uninstalled PYTHON: this Python must not find the package any more.
expect_uninstalled() {
  local found
  found="$("$1" -c 'import importlib.util as u; print(u.find_spec("scanloom") or "")')"
  [[ -z "$found" ]] || { printf 'the package is still installed: %s\n' "$found" >&2; return 1; }
}

script="tools/packages/in_root/$1"
shift
# shellcheck disable=SC1090  # one of this folder
source "$script"
