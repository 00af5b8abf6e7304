// The border to exceptions: the library throws nothing, but the standard library may.
#pragma once

#include <exception>
#include <new>

#include "base/expected.h"

namespace scanloom {

/// Calls `work`; exceptions of the standard library become errors.
template <class Work>
auto guard(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, "the system has no memory left");
  } catch (const std::exception& exception) {
    return fail(Code::internal, "an unexpected exception: {}", exception.what());
  }
}

}  // namespace scanloom
