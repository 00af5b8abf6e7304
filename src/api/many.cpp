// ManyRuns: reads a window of sequences, sorts them by length, deals them to the lanes of the
// threads, and hands out results in order.
#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <scanloom/many.h>

#include "api/guard.h"
#include "api/lane_group.h"
#include "api/many_job.h"
#include "api/many_target.h"
#include "api/padded_group.h"
#include "base/cpu.h"
#include "base/thread_pool.h"
#include "passes/streaming/stream_form.h"

namespace scanloom {
namespace {

using runtime::Clock;
using tensor::Shape;

constexpr int kMaxBatch = 4096, kDefaultBatch = 64;
/// Sequences of a window for each lane: at its end, when lanes run empty, only the shortest are
/// left.
constexpr std::int64_t kSequencesOfLane = 8;
constexpr std::int64_t kBytesOfWindow = std::int64_t{256} << 20;
constexpr auto kProgressInterval = std::chrono::milliseconds(100);

Expected<void> expect_valid(const ManyOptions& options) {
  if (options.batch < 0 || options.batch > kMaxBatch)
    return fail(Code::invalid_argument, "batch is {}, but must be 0 to {}", options.batch,
                kMaxBatch);
  if (options.window < 0)
    return fail(Code::invalid_argument, "window is {}, but must be 0 or more", options.window);
  return {};
}

/// Whether lanes are rows of the batch, and the sequence has one.
bool has_one_row(const ManyJob& job, const ManyProgram& program) {
  if (program.adds_axis) return false;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const tensor::Shape& shape = job.arranged.shapes[i];
    const auto axis = program.inputs[i].lane;
    if (axis && (*axis >= shape.rank() || shape[*axis] != 1)) return false;
  }
  return true;
}

std::int64_t bytes_of(const ManyJob& job, const Session::Impl& model) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < job.arranged.shapes.size(); ++i)
    bytes += job.arranged.shapes[i].elements() *
             static_cast<std::int64_t>(dtype_bytes(model.inputs[i].dtype));
  return bytes;
}

/// Whether the sequence can share runs with `other`: all sizes but the steps are equal, and what
/// lanes have in common has the same elements.
bool fits(const ManyJob& job, const ManyJob& other, const Session::Impl& model,
          const ManyProgram& program) {
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const ManyInput& input = program.inputs[i];
    Shape a = job.arranged.shapes[i], b = other.arranged.shapes[i];
    if (input.steps) a[*input.steps] = b[*input.steps] = 0;
    if (!(a == b)) return false;
    if (!input.argument || input.lane) continue;
    const auto bytes = static_cast<std::size_t>(a.elements()) * dtype_bytes(model.inputs[i].dtype);
    const std::byte *x = job.arranged.data[i], *y = other.arranged.data[i];
    if (x != y && bytes > 0 && std::memcmp(x, y, bytes) != 0) return false;
  }
  return true;
}

/// Whether an error about the sizes of a sequence leaves other sequences unharmed.
bool is_of_sequence(Code code) {
  return code == Code::invalid_argument || code == Code::invalid_model || code == Code::unsupported;
}

}  // namespace

struct [[gnu::visibility("hidden")]] ManyRuns::Impl {
  ManyTarget target;
  std::shared_ptr<const Session::Impl> model;
  std::shared_ptr<const ManyProgram> program;
  bool is_settled = false;  ///< whether `program` is that of the sequences' sizes
  SequenceSource source;
  ManyOptions options;
  std::unique_ptr<ManyShared> shared;
  std::int64_t threads = 1, batch = kDefaultBatch;

  std::deque<std::unique_ptr<ManyJob>> window;  ///< complete if `is_run`
  bool is_run = false;
  bool is_at_end = false;
  std::int64_t next_index = 0, alone = 0;
  std::string why_alone;
  std::optional<Error> fatal;
  std::optional<Error> pending;  ///< fatal once the window is empty: results before it are complete
  std::optional<Clock::time_point> start;
  double seconds = 0;  ///< inside next()

  // While a window runs:
  CancelFlag stop;
  std::mutex error_mutex;
  std::optional<Error> failure;
  std::exception_ptr thrown;  ///< by `options.progress`, in the caller's thread
  std::thread::id caller;
  Clock::time_point last_progress;
  std::int64_t reported = -1;  ///< sequences of the last progress

  Expected<std::optional<SequenceResult>> next();
  Expected<void> read_window();
  Expected<std::unique_ptr<ManyJob>> read_one();
  Expected<void> settle(ManyJob& job);
  Expected<void> run_window();
  void end_with(Error error);
  void release_feeds();
  Expected<void> run_parts(std::vector<const ManyPart*> parts);
  Expected<void> run_one(ManyJob& job);
  /// Calls work(0) ... work(count - 1) on the threads, until one of them fails.
  template <class Work>
  Expected<void> run_parallel(std::int64_t count, Work work);
  Expected<RunOptions> options_of_run();
  /// Errors: the run was cancelled, or its deadline has passed.
  Expected<void> check_end() const;
  /// Returns the seconds until the deadline, 0 without one. Error: it has passed.
  Expected<double> time_left() const;
  Expected<void> report_window();
  void report_progress(bool is_last = false);
  void give_up(Error error);
  Expected<SequenceResult> take();
  [[nodiscard]] double elapsed() const {
    return start ? std::chrono::duration<double>(Clock::now() - *start).count() : 0;
  }
};

ManyRuns::ManyRuns(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Expected<ManyRuns> ManyTarget::start(SequenceSource source, const ManyOptions& options) const {
  SCANLOOM_CHECK_OK(expect_valid(options));
  auto impl = std::make_shared<ManyRuns::Impl>();
  impl->target = *this;
  impl->model = model;
  impl->program = program;
  impl->source = std::move(source);
  impl->options = options;
  impl->options.run.progress = {};
  impl->options.run.on_poll = {};
  impl->options.run.profile = false;
  if (options.batch > 0) impl->batch = options.batch;
  impl->threads = std::min(pool_threads(), model->plan->options.threads);
  impl->shared = std::make_unique<ManyShared>(*model, program.get());
  impl->shared->wanted.assign(model->own_outputs, options.outputs.empty());
  const std::span outputs = std::span(model->outputs).first(model->own_outputs);
  for (const std::string& name : options.outputs) {
    const std::size_t found = find_by_name(outputs, name);
    if (found == outputs.size())
      return fail(Code::invalid_argument, "the model has no output '{}'", name)
          .note("its outputs are: " + names_of(outputs));
    impl->shared->wanted[found] = true;
  }
  return ManyRuns(std::move(impl));
}

Expected<ManyRuns> Session::run_many(SequenceSource source, const ManyOptions& options) const {
  return guard([&]() -> Expected<ManyRuns> {
    const std::vector<bool> common = impl_->inputs_fed(options.shared);
    ManyTarget target{.model = impl_, .program = {}, .run = {}};
    SCANLOOM_TRY(target.program, impl_->many_program(common));
    target.run = [model = impl_](std::span<const Feed> feeds, const RunOptions& run,
                                 std::span<const std::string> wanted, std::uint64_t number) {
      return model->run(feeds, run, wanted, false, number);
    };
    const bool has_steps = target.program->has_steps;
    const std::size_t tries = target.program->carries_nothing() ? kTries
                              : has_steps                       ? 1
                                          : passes::open_walked_sizes(impl_->plan->module).size();
    if ((!target.program->has_lanes() || target.program->carries_nothing()) && tries > 0)
      target.for_sizes =
          [model = impl_, common, has_steps,
           tries](const Arranged& first) -> Expected<std::shared_ptr<const ManyProgram>> {
        SCANLOOM_TRY(auto found, model->many_program_for(first.shapes, common, tries));
        return found->has_lanes() || !has_steps ? std::move(found) : nullptr;
      };
    return target.start(std::move(source), options);
  });
}

Expected<std::optional<SequenceResult>> ManyRuns::next() {
  Expected<std::optional<SequenceResult>> result = guard([&] { return impl_->next(); });
  // When memory runs out, some parts of the window may have run: they must not run again.
  if (!result && !impl_->fatal) impl_->fatal = result.error();
  return result;
}

Expected<std::optional<SequenceResult>> ManyRuns::Impl::next() {
  if (fatal) return *fatal;
  if (!start) start = Clock::now();
  if (!is_run || window.empty()) {
    const auto begin = Clock::now();
    Expected<void> done = read_window();
    if (done && !window.empty())
      done = run_window();
    else if (done && next_index > 0)
      done = report_window();
    seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    if (!done) end_with(done.error());
  }
  if (window.empty() && pending) fatal = std::exchange(pending, std::nullopt);
  if (fatal) return *fatal;
  if (window.empty()) return std::optional<SequenceResult>();
  SCANLOOM_TRY(SequenceResult result, take());
  return std::optional(std::move(result));
}

Expected<void> ManyRuns::Impl::read_window() {
  is_run = false;
  const std::int64_t most =
      options.window > 0 ? options.window : kSequencesOfLane * batch * threads;
  std::int64_t bytes = 0;
  while (!is_at_end && !pending && std::ssize(window) < most) {
    // The source may take long for each sequence.
    SCANLOOM_CHECK_OK(check_end());
    if (options.window == 0 && bytes > kBytesOfWindow && std::ssize(window) >= batch * threads)
      break;
    Expected<std::unique_ptr<ManyJob>> job = read_one();
    if (!job && job.error().code() == Code::cancelled) return job.error();
    if (!job) {
      pending = job.error();
      break;
    }
    if (*job == nullptr) {
      is_at_end = true;
      break;
    }
    bytes += bytes_of(**job, *model);
    window.push_back(*std::move(job));
  }
  return {};
}

/// nullptr: at the end.
Expected<std::unique_ptr<ManyJob>> ManyRuns::Impl::read_one() {
  SCANLOOM_TRY(std::optional<SequenceFeeds> sequence, source());
  if (!sequence) return std::unique_ptr<ManyJob>();
  auto job = std::make_unique<ManyJob>();
  job->index = next_index++;
  job->sequence = *std::move(sequence);
  job->feeds = job->sequence.feeds;
  job->feeds.insert(job->feeds.end(), options.shared.begin(), options.shared.end());
  job->error = job->sequence.problem;
  if (!job->error) arrange(*job, *model);
  if (!job->error) {
    SCANLOOM_CHECK_OK(settle(*job));
    prepare(*job, *model, *program, options.run);
    job->first_run = model->next_runs(std::max<std::size_t>(job->parts.size(), 1));
  }
  return job;
}

/// Chooses the program by the sizes of the first sequence. Those that it cannot be chosen by run on
/// their own, which tells their error. Errors: those that are not of the sequence.
Expected<void> ManyRuns::Impl::settle(ManyJob& job) {
  if (is_settled || !target.for_sizes) return {};
  if (!program->has_lanes() || program->carries_nothing() || !has_one_row(job, *program)) {
    auto found = target.for_sizes(job.arranged);
    if (!found && is_of_sequence(found.error().code())) {
      job.why_alone = "its sizes do not fit together: " + found.error().message();
      return {};
    }
    if (!found) return std::move(found).error();
    if (*found) program = *std::move(found);
    shared->program = program.get();
  }
  is_settled = true;
  return {};
}

Expected<void> ManyRuns::Impl::run_window() {
  caller = std::this_thread::get_id();
  std::vector<const ManyPart*> parts;
  std::vector<ManyJob*> singles;
  const ManyJob* reference = nullptr;
  for (const std::unique_ptr<ManyJob>& job : window) {
    if (job->error) continue;
    if (program->has_lanes() && job->why_alone.empty() && reference != nullptr &&
        !fits(*job, *reference, *model, *program))
      job->why_alone = "it has other sizes or other common feeds than the sequences before it";
    if (!program->has_lanes() || !job->why_alone.empty()) {
      singles.push_back(job.get());
      continue;
    }
    if (reference == nullptr) reference = job.get();
    for (const ManyPart& part : job->parts) parts.push_back(&part);
  }
  std::ranges::stable_sort(parts, std::greater(), &ManyPart::steps);
  std::ranges::stable_sort(singles, std::greater(), &ManyJob::steps);
  SCANLOOM_CHECK_OK(run_parts(std::move(parts)));
  for (const std::unique_ptr<ManyJob>& job : window) {
    if (!job->has_failed) continue;
    job->why_alone = "its run failed";
    singles.push_back(job.get());
  }
  SCANLOOM_CHECK_OK(run_parallel(std::ssize(singles), [&](std::int64_t i) {
    return run_one(*singles[static_cast<std::size_t>(i)]);
  }));
  for (const ManyJob* job : singles) {
    if (!program->has_lanes()) break;
    ++alone;
    why_alone = job->why_alone;
  }
  SCANLOOM_CHECK_OK(report_window());
  release_feeds();
  is_run = true;
  return {};
}

/// The other threads may have run all of a window before this one, which alone reports, had begun.
Expected<void> ManyRuns::Impl::report_window() {
  if (!options.progress) return {};
  return run_parallel(1, [&](std::int64_t) -> Expected<void> {
    report_progress(is_at_end);
    return {};
  });
}

/// Whoever cancels wants nothing more. Otherwise the results before the first incomplete one are
/// delivered before the error is.
void ManyRuns::Impl::end_with(Error error) {
  const auto is_incomplete = [](const auto& job) { return !job->error && !job->is_complete; };
  if (error.code() == Code::cancelled)
    window.clear();
  else
    window.erase(std::ranges::find_if(window, is_incomplete), window.end());
  release_feeds();
  pending = std::move(error);
  is_run = true;
}

void ManyRuns::Impl::release_feeds() {
  for (const std::unique_ptr<ManyJob>& job : window) {
    job->feeds.clear();
    job->arranged = {};
    job->sequence = {};
  }
}

template <class Work>
Expected<void> ManyRuns::Impl::run_parallel(std::int64_t count, Work work) {
  const auto attempt = [&](auto&& call) {
    try {
      if (const Expected<void> done = guard(call); !done) give_up(done.error());
    } catch (...) {  // must not leave a thread of the pool
      thrown = std::current_exception();
      give_up(Error(Code::cancelled, "an exception of `progress` ended the runs"));
    }
  };
  parallel_for_attended(
      count, static_cast<int>(threads), [&](std::int64_t i) { attempt([&] { return work(i); }); },
      [&] {
        if (!options.progress || thrown) return;
        attempt([&]() -> Expected<void> {
          report_progress();
          return {};
        });
      });
  if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
  if (failure) return *failure;
  return {};
}

/// `parts`: longest first.
Expected<void> ManyRuns::Impl::run_parts(std::vector<const ManyPart*> parts) {
  if (parts.empty()) return {};
  const std::int64_t share = (std::ssize(parts) + threads - 1) / threads;
  const std::int64_t lanes = std::min(batch, share);
  const auto run_options = [this] { return options_of_run(); };
  if (program->pads) {
    const std::vector<PaddedParts> groups = padded_groups(parts, *program, lanes);
    return run_parallel(std::ssize(groups), [&](std::int64_t i) {
      return run_padded(*shared, groups[static_cast<std::size_t>(i)], lanes, run_options);
    });
  }
  WaitingParts waiting(std::move(parts));
  return run_parallel(
      threads, [&](std::int64_t) { return LaneGroup(*shared, waiting, lanes).run(run_options); });
}

Expected<void> ManyRuns::Impl::run_one(ManyJob& job) {
  SCANLOOM_TRY(const RunOptions run_options, options_of_run());
  Expected<void> ran = run_alone(job, *model, *program, target.run, run_options, options.outputs);
  if (!ran && ran.error().code() == Code::cancelled) return ran;
  if (!ran) {
    SCANLOOM_CHECK_OK(time_left());
    job.error = std::move(ran).error();
  }
  job.is_complete = true;
  ++shared->sequences;
  shared->steps += job.steps - job.steps_in_lanes;
  return {};
}

/// Ends the other threads too.
void ManyRuns::Impl::give_up(Error error) {
  const std::scoped_lock lock(error_mutex);
  if (!failure) failure = std::move(error);
  stop.cancel();
}

Expected<RunOptions> ManyRuns::Impl::options_of_run() {
  SCANLOOM_CHECK_OK(check_end());
  RunOptions run = options.run;
  if (std::this_thread::get_id() == caller && options.progress) {
    report_progress();
    run.on_poll = [this] { report_progress(); };
  }
  SCANLOOM_TRY(run.deadline, time_left());
  return run;
}

Expected<void> ManyRuns::Impl::check_end() const {
  const CancelFlag* const cancel = options.run.cancel;
  if (stop.cancelled() || (cancel != nullptr && cancel->cancelled()))
    return fail(Code::cancelled, "the run was cancelled");
  SCANLOOM_CHECK_OK(time_left());
  return {};
}

Expected<double> ManyRuns::Impl::time_left() const {
  if (options.run.deadline <= 0) return 0.0;
  const double left = options.run.deadline - elapsed();
  if (left <= 0)
    return fail(Code::limit_reached, "the deadline of {} s was reached", options.run.deadline);
  return left;
}

/// `is_last`: whatever the interval, unless it has been reported.
void ManyRuns::Impl::report_progress(bool is_last) {
  const auto now = Clock::now();
  const std::int64_t sequences = shared->sequences;
  if (is_last ? reported == sequences : now - last_progress < kProgressInterval) return;
  last_progress = now;
  reported = sequences;
  options.progress({sequences, shared->steps, elapsed()});
}

Expected<SequenceResult> ManyRuns::Impl::take() {
  const std::unique_ptr<ManyJob> job = std::move(window.front());
  window.pop_front();
  SequenceResult result{.index = job->index, .error = {}, .results = std::move(job->results)};
  if (job->error) {
    result.error = std::move(*job->error).at(fmt::format("sequence {}", job->index));
    return result;
  }
  if (result.results.size() > 0) return result;
  const auto add = [&](std::size_t output) -> Expected<void> {
    SCANLOOM_TRY(Value value, to_value(job->outputs[output]));
    result.results.add(model->outputs[output].name, std::move(value));
    return {};
  };
  job->outputs.resize(model->own_outputs);
  if (options.outputs.empty())
    for (std::size_t i = 0; i < model->own_outputs; ++i) SCANLOOM_CHECK_OK(add(i));
  for (const std::string& name : options.outputs)
    SCANLOOM_CHECK_OK(add(find_by_name(model->outputs, name)));
  return result;
}

ManyReport ManyRuns::report() const {
  const Impl& impl = *impl_;
  ManyReport report;
  report.padded = impl.program->pads;
  report.lanes = impl.program->has_lanes() && !report.padded;
  report.is_decided = impl.is_settled || !impl.target.for_sizes;
  report.reason = impl.program->reason;
  report.node = impl.program->node;
  report.sequences = impl.shared->sequences;
  if (report.is_decided && impl.program->has_steps) report.steps = impl.shared->steps;
  report.alone = impl.alone;
  report.why_alone = impl.why_alone;
  report.runs = impl.shared->runs;
  report.lane_steps = impl.shared->lane_steps;
  report.filled_lane_steps = impl.shared->filled_lane_steps;
  report.threads = static_cast<int>(impl.threads);
  report.batch = static_cast<int>(impl.batch);
  report.seconds = impl.seconds;
  return report;
}

}  // namespace scanloom
