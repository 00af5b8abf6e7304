// One run on behalf of Python: limits, progress and Ctrl-C, without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <functional>
#include <string>

#include <scanloom/session.h>

#include "errors.h"

namespace scanloom::python {

namespace nb = nanobind;

/// The contents of scanloom.RunOptions.
struct RunSettings {
  double deadline = 0;
  std::int64_t max_steps = -1;
  std::int64_t max_memory = 0;
  nb::object cancel;           ///< CancelFlag, or None
  nb::object progress;         ///< callable(node, step, steps), or None
  bool watch_signals = false;  ///< on the main thread: Ctrl-C ends the run
};

/// Calls `run` without the GIL and returns its results. Raises the error of the run through
/// `raise_error`, the exception of the progress callback, or KeyboardInterrupt.
Results run_unlocked(const RunSettings& settings,
                     const std::function<Expected<Results>(const RunOptions&)>& run,
                     void (*raise_error)(const Error&) = raise);

/// Returns the data of a report, which `make` writes. Otherwise like run_unlocked.
nb::object report_unlocked(const RunSettings& settings, std::string title, int runs,
                           const std::function<Expected<std::string>(const ReportOptions&)>& make,
                           void (*raise_error)(const Error&) = raise);

}  // namespace scanloom::python
