// The objects that the handles of scanloom.h point to, and the boundary that no exception crosses.
#pragma once

#include <scanloom/scanloom.h>
#include <scanloom/session.h>

#include <concepts>
#include <string>
#include <vector>

#include "api/guard.h"

struct scanloom_error {
  scanloom::Error error;
  std::string message;
};

/// A view, and the result or copy it refers to if the memory is not the caller's.
struct scanloom_value {
  scanloom::View view;
  std::int64_t elements = 0;
};

struct scanloom_info {
  scanloom::ValueInfo info;
};

struct scanloom_session_options {
  scanloom::SessionOptions options;
  scanloom_execution execution = SCANLOOM_AUTOMATIC;
  scanloom_numerics numerics = SCANLOOM_EXACT;
  std::vector<std::byte> weights;  ///< the options refer to them
};

struct scanloom_session {
  scanloom::Session session;
  std::vector<scanloom_info> inputs, outputs;
};

struct scanloom_stream {
  scanloom::Session session;
  scanloom::Stream stream;
};

struct scanloom_cancel {
  scanloom::CancelFlag flag;
};

struct scanloom_run_options {
  scanloom::RunOptions options;
  scanloom_progress_fn progress = nullptr;
  void* user = nullptr;
};

namespace scanloom::c_api {

constexpr scanloom_code number_of(Code code) noexcept { return static_cast<int>(code) + 1; }

/// Passes the error to the caller, if wanted; returns its code.
scanloom_code hand_over(Error error, scanloom_error** to) noexcept;

/// Calls `work`, which returns Expected<void>, and converts any outcome into a code.
template <std::invocable Work>
scanloom_code protect(scanloom_error** error, Work work) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    Expected<void> done = guard(work);
    return done ? SCANLOOM_OK : hand_over(std::move(done).error(), error);
  } catch (const std::bad_alloc&) {  // building an error needs memory, too
    return SCANLOOM_OUT_OF_MEMORY;
  } catch (...) {  // thrown by a function of the caller, against its contract
    return SCANLOOM_INTERNAL;
  }
}

/// For functions that return NULL if memory has run out.
template <std::invocable Work>
auto or_null(Work work) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    return nullptr;
  }
}

/// A copy of the text, for scanloom_text_free; nullptr if memory has run out.
char* copy_of(const std::string& text);

/// An error that names the argument if it is NULL.
Expected<void> require(const void* argument, std::string_view name);

/// A new handle for the value.
scanloom_value* make_value(const Value& value);
scanloom_value* make_value(View view);

}  // namespace scanloom::c_api
