# shellcheck shell=bash
# Installs the wheel, runs the demo's model and a sample of the tests, and uninstalls it. Run by
# check_roots.sh through run.sh.
! command -v gcc g++ clang || { printf 'there should be no compiler\n' >&2; exit 1; }
! compgen -G '/usr/lib/*/libLLVM*' || { printf 'there should be no LLVM\n' >&2; exit 1; }

python3 -m venv /venv
PATH="/venv/bin:$PATH"
pip install -q --no-index --find-links build/wheels --find-links "$1" scanloom
pip list
scanloom version --verbose
[[ "$(python -m scanloom --version)" == "$(scanloom --version)" ]]
[[ -e "$(scanloom --cmake-dir)/scanloom-config.cmake" ]]
[[ -e "$(scanloom --include-dir)/scanloom/session.h" ]]

python examples/voice_detection.py build/cache/silero-vad/silero_vad.onnx "$(first_recording)"
scanloom show build/cache/silero-vad/silero_vad.onnx | tail -3
python tools/packages/in_root/loops.py /tmp/means.onnx
scanloom bench /tmp/means.onnx --dim x.0=100000
scanloom report /tmp/means.onnx --dim x.0=1000 -o /tmp/report.html
grep -q '^<!doctype html>' /tmp/report.html

pip install -q --no-index --find-links "$1" onnx onnxruntime ml_dtypes pytest hypothesis
python tools/packages/in_root/backend.py /tmp/means.onnx
python -m pytest -q -p no:cacheprovider --disable-warnings python/tests/session/test_session.py \
  python/tests/session/test_random_programs.py python/tests/session/test_like_onnxruntime.py

pip uninstall -q -y scanloom
[[ ! -e /venv/bin/scanloom ]]
expect_uninstalled python
printf 'wheel: ok\n'
