// The loop compiler, for its tests.
#pragma once

#include <string>

#include "api/jit_plugin.h"

namespace scanloom::jit {

/// Null where this build has none.
inline const Plugin* compiler() {
  std::string why_not;
  return jit_compiler(why_not);
}

}  // namespace scanloom::jit
