# shellcheck shell=bash
# Installs the Debian packages, builds the examples with them by CMake and a program by pkg-config, and
# removes them; then the same examples with the archive. Run by check_roots.sh through run.sh.
readonly packages="$1" model=build/cache/silero-vad/silero_vad.onnx
recording="$(first_recording)"

# build_and_run SETTING...: the examples as a project of their own.
build_and_run() {
  rm -rf /tmp/examples
  cmake -S examples -B /tmp/examples "$@" >/tmp/configure.log || { cat /tmp/configure.log; return 1; }
  cmake --build /tmp/examples >/tmp/build.log || { cat /tmp/build.log; return 1; }
  local program
  for program in voice_detection voice_detection_c; do
    "/tmp/examples/$program" "$model" "$recording" | tee "/tmp/$program.txt"
  done
  diff /tmp/voice_detection.txt /tmp/voice_detection_c.txt
  /tmp/examples/recurrence | tail -3
}

# build_alone: a program by pkg-config.
build_alone() {
  # shellcheck disable=SC2046  # a list of options
  g++ -std=c++20 tools/packages/in_root/exceptions.cpp -o /tmp/exceptions \
    $(pkg-config --cflags --libs scanloom)
  /tmp/exceptions
}

dpkg -i "$packages"/*.deb
build_and_run
build_alone
scanloom --version
(cd /tmp && python3 /project/tools/packages/in_root/loops.py /tmp/means.onnx)
ls /usr/share/doc/scanloom/licences
dpkg --remove python3-scanloom scanloom libscanloom-dev libscanloom0
[[ ! -e /usr/lib/libscanloom.so.0 ]]
expect_uninstalled python3

mkdir "/opt/some place"
tar -xf "$packages"/*.tar.gz -C "/opt/some place"
prefix="$(echo "/opt/some place"/*)"
build_and_run "-DCMAKE_PREFIX_PATH=$prefix"
"$prefix/bin/scanloom" --version
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"
pkg-config --exists scanloom
printf 'packages: ok\n'
