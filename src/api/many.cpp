// ManyRuns: reads a window of sequences, sorts them by length, deals them to the lanes of the
// threads, and hands out results in order.
#include <algorithm>
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
#include "api/many_variant.h"
#include "api/padded_group.h"
#include "base/cpu.h"
#include "base/thread_pool.h"

namespace scanloom {
namespace {

using runtime::Clock;

constexpr int kMaxBatch = 4096, kDefaultBatch = 64;
/// Sequences of a window for each lane: at its end, when lanes run empty, only the shortest are
/// left.
constexpr std::int64_t kSequencesOfLane = 8;
constexpr std::int64_t kBytesOfWindow = std::int64_t{256} << 20;
constexpr auto kProgressInterval = std::chrono::milliseconds(100);
/// Sessions of a window, each with programs of its own.
constexpr std::size_t kMaxVariants = 8;

Expected<void> expect_valid(const ManyOptions& options) {
  if (options.batch < 0 || options.batch > kMaxBatch)
    return fail(Code::invalid_argument, "batch is {}, but must be 0 to {}", options.batch,
                kMaxBatch);
  if (options.window < 0)
    return fail(Code::invalid_argument, "window is {}, but must be 0 or more", options.window);
  return {};
}

std::int64_t bytes_of(const ManyJob& job) {
  std::int64_t bytes = 0;
  if (job.variant == nullptr) return bytes;
  const Session::Impl& model = *job.variant->target.model;
  for (std::size_t i = 0; i < job.arranged.shapes.size(); ++i)
    bytes += job.arranged.shapes[i].elements() *
             static_cast<std::int64_t>(dtype_bytes(model.inputs[i].dtype));
  return bytes;
}

}  // namespace

struct [[gnu::visibility("hidden")]] ManyRuns::Impl {
  std::shared_ptr<const Session::Impl> model;  ///< of sequences that name no session
  bool takes_sessions = false;                 ///< whether sequences may name one
  std::vector<std::unique_ptr<ManyVariant>> variants;
  ManyReport past;  ///< of variants that are gone
  SequenceSource source;
  ManyOptions options;
  std::int64_t threads = 1, batch = kDefaultBatch;

  std::deque<std::unique_ptr<ManyJob>> window;  ///< complete if `is_run`
  bool is_run = false;
  bool is_at_end = false;
  std::int64_t next_index = 0;
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
  /// Returns what sequences of a session run with. Errors: invalid_argument (it has not the outputs
  /// that are wanted); out_of_memory.
  Expected<ManyVariant*> variant_of(const std::shared_ptr<const Session::Impl>& session);
  Expected<void> prepare_one(ManyJob& job);
  void drop_variants();
  Expected<void> run_window();
  void end_with(Error error);
  void release_feeds();
  Expected<void> run_parts(ManyVariant& variant);
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
  [[nodiscard]] ManyReport report() const;
  Expected<SequenceResult> take();
  [[nodiscard]] double elapsed() const {
    return start ? std::chrono::duration<double>(Clock::now() - *start).count() : 0;
  }
};

ManyRuns::ManyRuns(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Expected<ManyRuns> ManyRuns::start(const std::shared_ptr<const Session::Impl>& model,
                                   SequenceSource source, const ManyOptions& options) {
  SCANLOOM_CHECK_OK(expect_valid(options));
  SCANLOOM_CHECK_OK(wanted_outputs(*model, options.outputs));
  if (Expected<void> fits = check_shared(*model, options.shared); !fits)
    return std::move(fits).error().at("shared");
  auto impl = std::make_shared<ManyRuns::Impl>();
  impl->model = model;
  impl->source = std::move(source);
  impl->options = options;
  impl->options.run.progress = {};
  impl->options.run.on_poll = {};
  impl->options.run.profile = false;
  if (options.batch > 0) impl->batch = options.batch;
  impl->threads = std::min(pool_threads(), model->plan->options.threads);
  return ManyRuns(std::move(impl));
}

Expected<ManyRuns> ManyTarget::start(SequenceSource source, const ManyOptions& options) const {
  SCANLOOM_TRY(ManyRuns runs, ManyRuns::start(model, std::move(source), options));
  SCANLOOM_TRY(std::vector<bool> wanted, wanted_outputs(*model, options.outputs));
  runs.impl_->variants.push_back(std::make_unique<ManyVariant>(*this, std::move(wanted)));
  return runs;
}

Expected<ManyRuns> Session::run_many(SequenceSource source, const ManyOptions& options) const {
  return guard([&]() -> Expected<ManyRuns> {
    SCANLOOM_TRY(ManyRuns runs, ManyRuns::start(impl_, std::move(source), options));
    runs.impl_->takes_sessions = true;
    // Sequences that feed other inputs name other sessions, and may be all there are.
    if (impl_->defaults.empty()) SCANLOOM_CHECK_OK(runs.impl_->variant_of(impl_));
    return runs;
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
  if (variants.size() > kMaxVariants) drop_variants();
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
    bytes += bytes_of(**job);
    window.push_back(*std::move(job));
    if (variants.size() > kMaxVariants) break;
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
  if (!job->error) SCANLOOM_CHECK_OK(prepare_one(*job));
  return job;
}

Expected<void> ManyRuns::Impl::prepare_one(ManyJob& job) {
  const std::optional<Session>& session = job.sequence.session;
  Expected<ManyVariant*> variant = variant_of(session ? session->impl_ : model);
  if (!variant && variant.error().code() != Code::invalid_argument) return variant.error();
  if (!variant) {
    job.error = std::move(variant).error();
    return {};
  }
  job.variant = *variant;
  const ManyTarget& target = job.variant->target;
  arrange(job, *target.model);
  if (job.error) return {};
  SCANLOOM_CHECK_OK(job.variant->settle(job));
  prepare(job, *target.model, *target.program, options.run);
  job.first_run = target.model->next_runs(std::max<std::size_t>(job.parts.size(), 1));
  return {};
}

Expected<ManyVariant*> ManyRuns::Impl::variant_of(
    const std::shared_ptr<const Session::Impl>& session) {
  for (const std::unique_ptr<ManyVariant>& variant : variants)
    if (variant->target.model == session) return variant.get();
  if (session != model && !takes_sessions)
    return fail(Code::invalid_argument, "sequences of a function cannot name a session");
  SCANLOOM_TRY(std::vector<bool> wanted, wanted_outputs(*session, options.outputs));
  SCANLOOM_TRY(ManyTarget target, target_of(session, options.shared));
  return variants.emplace_back(std::make_unique<ManyVariant>(std::move(target), std::move(wanted)))
      .get();
}

/// Precondition: the window is empty.
void ManyRuns::Impl::drop_variants() {
  for (const std::unique_ptr<ManyVariant>& variant : variants) add_report(past, variant->report());
  variants.clear();
}

Expected<void> ManyRuns::Impl::run_window() {
  caller = std::this_thread::get_id();
  for (const std::unique_ptr<ManyVariant>& variant : variants) variant->begin_window();
  std::vector<ManyJob*> singles;
  for (const std::unique_ptr<ManyJob>& job : window)
    if (!job->error && !job->variant->admit(*job)) singles.push_back(job.get());
  std::ranges::stable_sort(singles, std::greater(), &ManyJob::steps);
  for (const std::unique_ptr<ManyVariant>& variant : variants)
    SCANLOOM_CHECK_OK(run_parts(*variant));
  for (const std::unique_ptr<ManyJob>& job : window) {
    if (!job->has_failed) continue;
    job->why_alone = "its run failed";
    singles.push_back(job.get());
  }
  SCANLOOM_CHECK_OK(run_parallel(std::ssize(singles), [&](std::int64_t i) {
    return run_one(*singles[static_cast<std::size_t>(i)]);
  }));
  for (const ManyJob* job : singles) {
    if (!job->variant->target.program->has_lanes()) continue;
    ++job->variant->alone;
    job->variant->why_alone = job->why_alone;
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

Expected<void> ManyRuns::Impl::run_parts(ManyVariant& variant) {
  std::vector<const ManyPart*> parts = std::exchange(variant.parts, {});
  if (parts.empty()) return {};
  std::ranges::stable_sort(parts, std::greater(), &ManyPart::steps);
  const std::int64_t share = (std::ssize(parts) + threads - 1) / threads;
  const std::int64_t lanes = std::min(batch, share);
  const auto run_options = [this] { return options_of_run(); };
  if (const ManyProgram& program = *variant.target.program; program.pads) {
    const std::vector<PaddedParts> groups = padded_groups(parts, program, lanes);
    return run_parallel(std::ssize(groups), [&](std::int64_t i) {
      return run_padded(variant.shared, groups[static_cast<std::size_t>(i)], lanes, run_options);
    });
  }
  WaitingParts waiting(std::move(parts));
  return run_parallel(threads, [&](std::int64_t) {
    return LaneGroup(variant.shared, waiting, lanes).run(run_options);
  });
}

Expected<void> ManyRuns::Impl::run_one(ManyJob& job) {
  SCANLOOM_TRY(const RunOptions run_options, options_of_run());
  const ManyTarget& target = job.variant->target;
  Expected<void> ran =
      run_alone(job, *target.model, *target.program, target.run, run_options, options.outputs);
  if (!ran && ran.error().code() == Code::cancelled) return ran;
  if (!ran) {
    SCANLOOM_CHECK_OK(time_left());
    job.error = std::move(ran).error();
  }
  job.is_complete = true;
  ++job.variant->shared.sequences;
  job.variant->shared.steps += job.steps - job.steps_in_lanes;
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
  std::int64_t sequences = past.sequences, steps = std::max<std::int64_t>(past.steps, 0);
  for (const std::unique_ptr<ManyVariant>& variant : variants) {
    sequences += variant->shared.sequences;
    steps += variant->shared.steps;
  }
  if (is_last ? reported == sequences : now - last_progress < kProgressInterval) return;
  last_progress = now;
  reported = sequences;
  options.progress({sequences, steps, elapsed()});
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
  const Session::Impl& model = *job->variant->target.model;
  const auto add = [&](std::size_t output) -> Expected<void> {
    SCANLOOM_TRY(Value value, to_value(job->outputs[output]));
    result.results.add(model.outputs[output].name, std::move(value));
    return {};
  };
  job->outputs.resize(model.own_outputs);
  if (options.outputs.empty())
    for (std::size_t i = 0; i < model.own_outputs; ++i) SCANLOOM_CHECK_OK(add(i));
  for (const std::string& name : options.outputs)
    SCANLOOM_CHECK_OK(add(find_by_name(model.outputs, name)));
  return result;
}

ManyReport ManyRuns::Impl::report() const {
  ManyReport all = past;
  for (const std::unique_ptr<ManyVariant>& variant : variants) add_report(all, variant->report());
  all.threads = static_cast<int>(threads);
  all.batch = static_cast<int>(batch);
  all.seconds = seconds;
  return all;
}

ManyReport ManyRuns::report() const { return impl_->report(); }

}  // namespace scanloom
