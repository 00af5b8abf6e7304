#include "many.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <scanloom/function.h>
#include <scanloom/many.h>

#include "errors.h"
#include "feeds.h"
#include "gil.h"
#include "results.h"
#include "running.h"
#include "text.h"

namespace scanloom::python {
namespace {

/// The text of the error that stands for an exception of the source.
constexpr std::string_view kSourceRaised = "the source of the sequences raised an exception";

/// The Python values of one sequence.
struct Held {
  std::optional<Session> session;  // its inputs are those of the feeds
  std::optional<Feeds> feeds;
  std::optional<ArrayView> reset;
};

std::span<const ValueInfo> inputs_of_sequences(const Function& function) {
  const Expected<std::span<const ValueInfo>> inputs = function.sequence_inputs();
  if (!inputs) raise(inputs.error());
  return *inputs;
}

/// Destroys Python values from any thread.
std::shared_ptr<Held> make_held() {
  return {new Held, [](Held* held) {
            if (Py_IsInitialized() == 0) return;
            const GilAcquire locked;
            delete held;
          }};
}

/// The iterator. Its source is a Python function that returns (feeds, reset, session) per sequence,
/// an exception for a sequence that cannot be read, or None at the end. The session may be None:
/// the one that the iterator is of.
class Many {
 public:
  Many(const Session& session, nb::callable pull, const std::vector<std::string>& outputs,
       int batch, std::int64_t window, const nb::dict& shared, RunSettings settings,
       nb::object progress)
      : Many(
            session.inputs(),
            [session](const SequenceSource& source, const ManyOptions& options) {
              return session.run_many(source, options);
            },
            to_exception, std::move(pull), outputs, batch, window, shared, std::move(settings),
            std::move(progress)) {}
  Many(const Function& function, nb::callable pull, const std::vector<std::string>& outputs,
       int batch, std::int64_t window, const nb::dict& shared, RunSettings settings,
       nb::object progress)
      : Many(
            inputs_of_sequences(function),
            [function](const SequenceSource& source, const ManyOptions& options) {
              return function.run_many(source, options);
            },
            to_exception_of_expression, std::move(pull), outputs, batch, window, shared,
            std::move(settings), std::move(progress)) {}

  /// Returns the arrays of the next sequence, its exception, or None at the end.
  nb::object next() {
    if (is_busy_.exchange(true))
      raise(Error(Code::invalid_argument, "the iterator of sequences is in use already"));
    const Idle idle{is_busy_};
    Expected<std::optional<SequenceResult>> result = [&] {
      const GilRelease unlocked;
      return runs_->next();
    }();
    // Once: Python takes the exception out of it.
    if (raised_) std::rethrow_exception(std::exchange(raised_, nullptr));
    // A deadline that passes before the source's exception is due takes its place.
    if (!result && source_raised_ && result.error().text() == kSourceRaised)
      std::rethrow_exception(std::exchange(source_raised_, nullptr));
    if (!result) raise(result.error());
    if (!*result) return nb::none();
    return to_python(**std::move(result));
  }

  [[nodiscard]] nb::dict report() const {
    const ManyReport report = runs_->report();
    nb::dict fields;
    fields["way"] = nb::none();
    if (report.is_decided)
      fields["way"] = report.lanes ? "lanes" : report.padded ? "padded batches" : "one by one";
    fields["reason"] = text(report.reason);
    fields["node"] = text(report.node);
    fields["sequences"] = report.sequences;
    fields["steps"] = nb::none();
    if (report.steps >= 0) fields["steps"] = report.steps;
    fields["alone"] = report.alone;
    fields["why_alone"] = text(report.why_alone);
    fields["runs"] = report.runs;
    fields["filled"] = report.filled();
    fields["threads"] = report.threads;
    fields["batch"] = report.batch;
    fields["seconds"] = report.seconds;
    return fields;
  }

 private:
  using Begin = std::function<Expected<ManyRuns>(const SequenceSource&, const ManyOptions&)>;

  /// `begin` holds the session or the function that `inputs` belong to.
  Many(std::span<const ValueInfo> inputs, Begin begin, nb::object (*exception_of)(const Error&),
       nb::callable pull, const std::vector<std::string>& outputs, int batch, std::int64_t window,
       const nb::dict& shared, RunSettings settings, nb::object progress)
      : begin_(std::move(begin)),
        inputs_(inputs),
        exception_of_(exception_of),
        pull_(std::move(pull)),
        shared_(shared, inputs_),
        settings_(std::move(settings)),
        progress_(std::move(progress)),
        flag_(settings_.cancel.is_none() ? nullptr : nb::cast<CancelFlag*>(settings_.cancel)) {
    ManyOptions options{.batch = batch, .window = window, .outputs = outputs};
    options.shared.assign(shared_.feeds().begin(), shared_.feeds().end());
    options.run.deadline = settings_.deadline;
    options.run.max_steps = settings_.max_steps;
    options.run.max_memory = settings_.max_memory;
    options.run.cancel = &flag_;
    if (settings_.watch_signals || !progress_.is_none())
      options.progress = [this](const ManyProgress& done) { turn(done); };
    Expected<ManyRuns> made = [&] {
      const GilRelease unlocked;
      return begin_([this] { return read(); }, options);
    }();
    runs_.emplace(value_or_raise(std::move(made)));
  }

  struct Idle {
    std::atomic<bool>& is_busy;
    ~Idle() { is_busy = false; }
  };

  /// Called without the GIL.
  Expected<std::optional<SequenceFeeds>> read() {
    const GilAcquire locked;
    try {
      if (settings_.watch_signals && PyErr_CheckSignals() != 0) throw nb::python_error();
      const nb::object item = pull();
      if (!item.is_valid()) return Error(Code::invalid_argument, std::string(kSourceRaised));
      if (item.is_none()) return std::optional<SequenceFeeds>();
      const std::int64_t index = read_++;
      if (PyExceptionInstance_Check(item.ptr()) != 0) return failed(index, item);
      return sequence(index, nb::cast<nb::tuple>(item));
    } catch (...) {
      raised_ = std::current_exception();
      return Error(Code::cancelled, "the reading of the sequences was interrupted");
    }
  }

  /// Calls the source. Keeps its exception for the moment when the results before it have been
  /// delivered, and returns no object; passes on KeyboardInterrupt and what else is no Exception.
  nb::object pull() {
    try {
      return pull_();
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;
      source_raised_ = std::current_exception();
      return {};
    }
  }

  std::optional<SequenceFeeds> sequence(std::int64_t index, const nb::tuple& item) {
    std::shared_ptr<Held> held = make_held();
    SequenceFeeds made;
    try {
      if (!item[2].is_none()) made.session = held->session = nb::cast<Session>(item[2]);
      held->feeds.emplace(nb::cast<nb::dict>(item[0]),
                          held->session ? held->session->inputs() : inputs_);
      if (!item[1].is_none()) made.reset = held->reset.emplace(item[1], "reset", nullptr).view();
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;
      return failed(index, nb::borrow(error.value()));
    }
    made.feeds.assign(held->feeds->feeds().begin(), held->feeds->feeds().end());
    made.owner = std::move(held);
    return made;
  }

  std::optional<SequenceFeeds> failed(std::int64_t index, nb::object exception) {
    failed_[index] = std::move(exception);
    SequenceFeeds made;
    made.problem = Error(Code::invalid_argument, "it cannot be read");
    return made;
  }

  nb::object to_python(SequenceResult result) {
    if (const auto found = failed_.find(result.index); found != failed_.end()) {
      nb::object exception = std::move(found->second);
      failed_.erase(found);
      return exception;
    }
    if (result.error) return exception_of_(*result.error);
    std::vector<Value> values = result.results.release();
    Converter converter(settings_.max_memory, values);
    nb::list arrays;
    for (Value& value : values) arrays.append(converter.to_object(std::move(value)));
    return arrays;
  }

  /// Lets Python run, and keeps its exception.
  void turn(const ManyProgress& done) {
    const GilAcquire locked;
    if (raised_) return;
    try {
      if (settings_.watch_signals && PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress_.is_none()) progress_(done.sequences, done.steps, done.seconds);
    } catch (...) {
      raised_ = std::current_exception();
      flag_.cancel();
    }
  }

  Begin begin_;
  std::span<const ValueInfo> inputs_;
  nb::object (*exception_of_)(const Error&);
  nb::callable pull_;
  Feeds shared_;
  RunSettings settings_;
  nb::object progress_;
  CancelFlag flag_;
  std::exception_ptr raised_;         ///< ends the iteration at once
  std::exception_ptr source_raised_;  ///< ends it after the results of the sequences before
  std::map<std::int64_t, nb::object>
      failed_;  ///< by index: exceptions of sequences not yet asked for
  std::int64_t read_ = 0;
  std::atomic<bool> is_busy_{false};
  std::optional<ManyRuns> runs_;
};

}  // namespace

void bind_many(nb::module_& module) {
  nb::class_<Many>(module, "Many")
      .def(nb::init<const Session&, nb::callable, const std::vector<std::string>&, int,
                    std::int64_t, const nb::dict&, RunSettings, nb::object>(),
           nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg().none())
      .def(nb::init<const Function&, nb::callable, const std::vector<std::string>&, int,
                    std::int64_t, const nb::dict&, RunSettings, nb::object>(),
           nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg().none())
      .def("next", &Many::next)
      .def("report", &Many::report);
}

}  // namespace scanloom::python
