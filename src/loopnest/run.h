// The one door to the passes over loop nests: runs those of a stage in order, and can skip, time,
// verify and show each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "loopnest/pass.h"

namespace scanloom::loopnest {

#ifdef NDEBUG
inline constexpr bool kVerifyEach = false;
#else
inline constexpr bool kVerifyEach = true;
#endif

struct NestRunOptions {
  std::vector<std::string> disabled = {};  ///< names of passes; an unknown one is an error
  bool verify_each = kVerifyEach;          ///< before the first pass and after each, naming it
  /// Called after each pass with the text of the body before and after it.
  std::function<void(const NestPass& pass, const std::string& before, const std::string& after)>
      dump = {};
};

struct NestPassTiming {
  std::string_view pass;
  std::int64_t nanoseconds = 0;
};

/// Runs the passes of a stage; returns what each took. Errors: invalid_argument (no such pass),
/// internal (a rule that a pass has broken, naming it).
Expected<std::vector<NestPassTiming>> run(BodyParts& body, Stage stage,
                                          const NestRunOptions& options = {});

/// Returns the body as it is at the moment, with its statements.
BodySource source_of(const BodyParts& body);

}  // namespace scanloom::loopnest
