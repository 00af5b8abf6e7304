// A libFuzzer target: any bytes are a model of ONNX or an error, and a model that is read keeps
// every rule of the IR, before and after it is printed and parsed. Built by the preset
// `asan-ubsan`; .ci/run runs it for a minute over tests/fuzz/corpus.
#include <cstddef>
#include <cstdint>
#include <new>

#include "frontends/onnx/read.h"
#include "tests/fuzz/checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    scanloom::Diagnostics diagnostics;
    scanloom::onnx::ReadOptions options;
    options.lenient = (size & 1) != 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    scanloom::fuzz::check_read(scanloom::onnx::read_model(nullptr, bytes, options, diagnostics),
                               diagnostics);
  } catch (const std::bad_alloc&) {
    return 0;  // src/api turns it into an error
  }
  return 0;
}
