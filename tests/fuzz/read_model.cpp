// A libFuzzer target: any bytes are a model or an error, and a model that is read keeps every rule
// of the IR, before and after it is printed and parsed. Built by the preset `asan-ubsan`; .ci/run
// runs it for a minute over tests/fuzz/corpus.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "frontends/onnx/read.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ops/ops.h"

namespace {

using scanloom::Error;

/// Ends the process in a way that libFuzzer keeps the bytes.
[[noreturn]] void give_away(const char* what, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.text().c_str());
  std::abort();
}

/// The text of a module is read back as the same text.
void check_text(const scanloom::ir::Module& module) {
  const scanloom::ir::PrintOptions options{.places = true, .max_elements = 1000};
  const std::string text = scanloom::ir::print(module, options);
  if (text.find(" elements>") != std::string::npos) return;  // a large constant, left out
  const auto parsed = scanloom::ir::parse(text, scanloom::ops::find_op);
  if (!parsed) give_away("what was printed cannot be parsed", parsed.error());
  const std::string again = scanloom::ir::print(*parsed, options);
  if (again == text) return;
  std::fprintf(stderr, "printed:\n%s\nprinted again:\n%s\n", text.c_str(), again.c_str());
  std::abort();
}

void check(std::string_view bytes) {
  scanloom::Diagnostics diagnostics;
  scanloom::onnx::ReadOptions options;
  options.lenient = (bytes.size() & 1) != 0;
  const auto module = scanloom::onnx::read_model(nullptr, bytes, options, diagnostics);
  if (!module) {
    if (module.error().code() == scanloom::Code::internal) give_away("reading", module.error());
    if (diagnostics.ok()) give_away("an error that no diagnostic holds", module.error());
    return;
  }
  if (const auto sound = scanloom::ir::verify(*module); !sound)
    give_away("what was read is not sound", sound.error());
  check_text(*module);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check({reinterpret_cast<const char*>(data), size});
  } catch (const std::bad_alloc&) {
    return 0;  // src/api turns it into an error
  }
  return 0;
}
