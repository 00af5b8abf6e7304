// A libFuzzer target: any bytes are an IR of OpenVINO or an error, and what is read keeps every
// rule of the IR, before and after it is printed and parsed. The weights are the same few kilobytes
// for all. Built by the preset `asan-ubsan`; .ci/run runs it for half a minute over
// tests/fuzz/corpus_openvino.
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include "frontends/openvino/read.h"
#include "tests/fuzz/checks.h"

namespace {

/// Small integers of every width, so that whatever a constant is taken for is of use.
const std::array<char, 8192>& weights() {
  static const std::array<char, 8192> bytes = [] {
    std::array<char, 8192> made{};
    for (std::size_t i = 0; i < made.size(); i += 8) made[i] = static_cast<char>(i / 8 % 5);
    return made;
  }();
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    scanloom::Diagnostics diagnostics;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const scanloom::openvino::WeightsFile file{
        nullptr, std::string_view(weights().data(), weights().size()), "model.bin"};
    scanloom::fuzz::check_read(scanloom::openvino::read_model(bytes, file, {}, diagnostics),
                               diagnostics);
  } catch (const std::bad_alloc&) {
    return 0;  // src/api turns it into an error
  }
  return 0;
}
