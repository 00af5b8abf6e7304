// The boundary to the caller: the library throws nothing, but the standard library may; and the
// library's floating-point settings are its own, whatever the caller's thread uses.
#pragma once

#include <exception>
#include <new>

#include "base/expected.h"
#include "base/fp_environment.h"

namespace scanloom {

/// Calls `work` under the floating-point rules of docs/numbers.md; exceptions of the standard
/// library become errors.
template <class Work>
auto guard(Work work) -> decltype(work()) {
  const FpEnvironment environment;
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, "the system is out of memory");
  } catch (const std::exception& exception) {
    return fail(Code::internal, "an unexpected exception: {}", exception.what());
  }
}

}  // namespace scanloom
