#include "running.h"

#include <optional>
#include <string>
#include <utility>

#include "errors.h"
#include "gil.h"
#include "text.h"

namespace scanloom::python {
namespace {

/// Called by the run several times a second: lets Python run, and keeps its exception. Ends the run
/// through `flag`, which belongs to this run only; the user's flag may be shared by others.
class Turn {
 public:
  Turn(const RunSettings& settings, CancelFlag& flag) : settings_(settings), flag_(flag) {}

  /// Runs the handlers of signals, which only Python's main thread may do.
  void check_signals() {
    attempt([] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
  }
  void report(const Progress& progress) {
    attempt([&] { settings_.progress(text(progress.node), progress.step, progress.steps); });
  }

  /// Raises the exception that Python raised during the run.
  void rethrow() {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  template <class Call>
  void attempt(Call call) {
    const GilAcquire locked;
    if (raised_) return;
    try {
      call();
    } catch (const std::exception&) {
      raised_ = std::current_exception();
      flag_.cancel();
    } catch (...) {  // no exception: Python is ending
      wait_for_the_end();
    }
  }

  const RunSettings& settings_;
  CancelFlag& flag_;
  std::exception_ptr raised_;
};

}  // namespace

Results run_unlocked(const RunSettings& settings,
                     const std::function<Expected<Results>(const RunOptions&)>& run,
                     void (*raise_error)(const Error&)) {
  CancelFlag flag(settings.cancel.is_none() ? nullptr : nb::cast<CancelFlag*>(settings.cancel));
  Turn turn(settings, flag);
  RunOptions options;
  options.deadline = settings.deadline;
  options.max_steps = settings.max_steps;
  options.max_memory = settings.max_memory;
  options.cancel = &flag;
  if (settings.watch_signals) options.on_poll = [&turn] { turn.check_signals(); };
  if (!settings.progress.is_none())
    options.progress = [&turn](const Progress& progress) { turn.report(progress); };
  std::optional<Expected<Results>> results;
  {
    const GilRelease unlocked;
    results.emplace(run(options));
  }
  turn.rethrow();
  if (!*results) raise_error(results->error());
  return **std::move(results);
}

nb::object report_unlocked(const RunSettings& settings, std::string title, int runs,
                           const std::function<Expected<std::string>(const ReportOptions&)>& make,
                           void (*raise_error)(const Error&)) {
  ReportOptions options{.form = ReportForm::data, .title = std::move(title), .runs = runs};
  std::string data;
  const auto run = [&](const RunOptions& given) -> Expected<Results> {
    options.run = given;
    Expected<std::string> made = make(options);
    if (!made) return std::move(made).error();
    data = *std::move(made);
    return Results();
  };
  run_unlocked(settings, run, raise_error);
  return text(data);
}

}  // namespace scanloom::python
