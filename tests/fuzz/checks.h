// Checks that the fuzzers of the readers make of a module: it keeps every rule of the IR, and its
// text is read back as the same text.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/diagnostics.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ops/ops.h"

namespace scanloom::fuzz {

/// Ends the process in a way that libFuzzer keeps the bytes.
[[noreturn]] inline void give_away(const char* what, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.text().c_str());
  std::abort();
}

inline void check_text(const ir::Module& module) {
  const ir::PrintOptions options{.locations = true, .max_elements = 1000};
  const std::string text = ir::print(module, options);
  if (text.find(" elements>") != std::string::npos) return;  // a large constant, left out
  const auto parsed = ir::parse(text, ops::find_op);
  if (!parsed) give_away("what was printed cannot be parsed", parsed.error());
  const std::string again = ir::print(*parsed, options);
  if (again == text) return;
  std::fprintf(stderr, "printed:\n%s\nprinted again:\n%s\n", text.c_str(), again.c_str());
  std::abort();
}

/// A module that a reader has made of some bytes, or why it has not.
inline void check_read(const Expected<ir::Module>& module, const Diagnostics& diagnostics) {
  if (!module) {
    if (module.error().code() == Code::internal) give_away("reading", module.error());
    if (diagnostics.ok()) give_away("an error that no diagnostic holds", module.error());
    return;
  }
  if (const auto sound = ir::verify(*module); !sound)
    give_away("what was read is not sound", sound.error());
  check_text(*module);
}

}  // namespace scanloom::fuzz
