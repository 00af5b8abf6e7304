// What stands behind the handles of scanloom.h, and the border that no exception crosses.
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

/// A view, and the result or copy that it is a view of, if it is not the caller's memory.
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
  std::vector<std::byte> weights;  ///< which the options refer to
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

/// Gives the error to the caller, if he wants it; returns its code.
scanloom_code hand_over(Error error, scanloom_error** to) noexcept;

/// Calls `work`, which returns Expected<void>, and turns whatever comes of it into a code.
template <std::invocable Work>
scanloom_code protect(scanloom_error** error, Work work) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    Expected<void> done = guard(work);
    return done ? SCANLOOM_OK : hand_over(std::move(done).error(), error);
  } catch (const std::bad_alloc&) {  // building an error needs memory, too
    return SCANLOOM_OUT_OF_MEMORY;
  } catch (...) {  // from a function of the caller, against its contract
    return SCANLOOM_INTERNAL;
  }
}

/// For functions that answer NULL when memory has run out.
template <std::invocable Work>
auto or_null(Work work) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    return nullptr;
  }
}

/// The text, for scanloom_text_free; nullptr when memory has run out.
char* copy_of(const std::string& text);

/// An error that names the argument, unless it is there.
Expected<void> require(const void* argument, std::string_view name);

/// The value as a handle of its own.
scanloom_value* make_value(const Value& value);
scanloom_value* make_value(View view);

}  // namespace scanloom::c_api
