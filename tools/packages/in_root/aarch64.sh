# shellcheck shell=bash
# Installs the wheel for AArch64, runs the demo's model and compares bits with those recorded. Run by
# check_aarch64.sh through run.sh.
readonly packages="$1" recorded="$2"
[[ "$(uname -m)" == aarch64 ]]
PATH="/usr/local/bin:$PATH"  # where pip of Debian installs programs

python3 -m pip install -q --no-index --find-links build/wheels --find-links "$packages" \
  --break-system-packages --no-compile --root-user-action ignore scanloom ml_dtypes
python3 -m pip list
scanloom version --verbose
[[ "$(python3 -m scanloom --version)" == "$(scanloom --version)" ]]

python3 examples/voice_detection.py build/cache/silero-vad/silero_vad.onnx "$(first_recording)" |
  tee /tmp/speech.txt
diff "$recorded/speech.txt" /tmp/speech.txt
scanloom show build/cache/silero-vad/silero_vad.onnx | tail -3
python3 tools/packages/in_root/loops.py /tmp/means.onnx
scanloom report /tmp/means.onnx --dim x.0=1000 -o /tmp/report.html
grep -q '^<!doctype html>' /tmp/report.html
python3 tools/packages/same_bits.py compare "$recorded"

python3 -m pip uninstall -q -y --break-system-packages --root-user-action ignore scanloom
expect_uninstalled python3
printf 'aarch64: ok\n'
