#include "runtime/speculation.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "base/thread_pool.h"

namespace scanloom::runtime {
namespace {

/// Shorter chunks are not worth the exchange between two threads.
constexpr double kMinNanosecondsStolen = 10e3;
/// Steps of the first piece of a chunk.
constexpr std::int64_t kFirstPiece = 64;
/// A chunk has at least so many times the steps after which states agree.
constexpr std::int64_t kMinAgreed = 4;
/// How often the main thread waits a moment for a thread that makes no progress.
constexpr int kPatience = 20;
/// Chunks of a loop whose speculation is forced: more than one is computed ahead.
constexpr int kForcedParts = 3;

}  // namespace

SpeculationPlan plan_speculation(const plan::Speculation& speculation,
                                 plan::SpeculationRecord& record, plan::SpeculationMode mode,
                                 std::int64_t steps, int max_threads) {
  const plan::SpeculationRecord::Facts facts = record.facts();
  SpeculationPlan plan;
  plan.threads = static_cast<int>(
      std::min<std::int64_t>({steps, std::int64_t{max_threads}, std::int64_t{pool_threads()}}));
  plan.is_forced = mode == plan::SpeculationMode::always && steps > 1;
  plan.sizes.parts = plan.threads;
  if (plan.is_forced) {
    plan.sizes.parts = std::max(plan.threads, kForcedParts);
    return plan;
  }
  const std::int64_t of_chunk = steps / std::max(plan.threads, 1);
  if (!pays_to_speculate(speculation, steps) || !record.may_pay(of_chunk) ||
      of_chunk < kMinAgreed * facts.needed || plan.threads < 2 || record.skips_run())
    return plan.threads = 1, plan;
  plan.sizes.first_piece = kFirstPiece;
  plan.sizes.head_start = facts.needed;
  plan.sizes.min_stolen =
      std::max({kMinAgreed * facts.needed,
                static_cast<std::int64_t>(kMinNanosecondsStolen / speculation.nanoseconds),
                std::int64_t{kFirstPiece}});
  return plan;
}

Speculation::Speculation(const Parts& parts, const SpeculationPlan& plan, std::int64_t first,
                         std::int64_t last)
    : parts_(parts),
      plan_(plan),
      first_(first),
      chunks_(first, last, static_cast<std::size_t>(parts.speculation.state_bytes), plan.sizes),
      step_(first),
      initial_(static_cast<std::size_t>(parts.speculation.state_bytes)),
      state_(initial_.size()),
      is_trusted_(parts.record.facts().agreed > 0) {
  parts_.main.save(initial_);
  if (is_trusted_) chunks_.allow_stealing();
}

Expected<bool> Speculation::run() {
  chunks_.take_front();
  Expected<bool> result = false;
  std::exception_ptr thrown;  // by the caller's functions
  const std::thread::id caller = std::this_thread::get_id();
  bool has_run = false;  // the caller may be given several parts
  const auto work = [&](std::int64_t) {
    if (std::this_thread::get_id() != caller) return help();
    if (std::exchange(has_run, true)) return;
    try {
      result = run_main();
    } catch (...) {
      thrown = std::current_exception();
    }
    chunks_.close();
  };
  parallel_for(plan_.threads, plan_.threads, work);
  if (thrown) std::rethrow_exception(thrown);
  return result;
}

/// The thread must not return before the main thread has begun, which it would otherwise replace.
void Speculation::help() {
  std::unique_ptr<StepTaker> taker;
  while (SpeculativeChunk* const chunk = chunks_.take_or_wait()) {
    try {
      if (!taker) taker = parts_.make_taker();
      speculate(*chunk, *taker, [] { return true; });
    } catch (...) {  // memory has run out; the main thread, which may have enough, takes the steps
      chunks_.abandon(*chunk);
    }
  }
}

Expected<bool> Speculation::run_main() {
  chunks_.allow_leaving();
  const Clock::time_point begin = Clock::now();
  if (plan_.is_forced)
    while (SpeculativeChunk* const chunk = chunks_.take())
      SCANLOOM_CHECK_OK(speculate_in_main(*chunk));
  SpeculativeChunk* chunk = chunks_.front();
  SCANLOOM_TRY(bool ran, take_front_in_order(*chunk));
  const std::chrono::duration<double> in_order = Clock::now() - begin;
  const std::int64_t steps_in_order = step_ - first_;
  while (ran) {
    chunks_.commit_front();
    chunk = chunks_.front();
    if (chunk == nullptr) break;
    if (chunks_.take_front()) {
      SCANLOOM_TRY(ran, take_front_in_order(*chunk));
    } else {
      SCANLOOM_TRY(ran, validate(*chunk));
    }
  }
  const std::chrono::duration<double> all = Clock::now() - begin;
  const double gain =
      in_order / all * static_cast<double>(step_ - first_) / static_cast<double>(steps_in_order);
  if (ran && !plan_.is_forced) parts_.record.note_gain(std::min<double>(gain, plan_.threads));
  return ran;
}

Expected<bool> Speculation::take_front_in_order(SpeculativeChunk& chunk) {
  // Another thread may split the chunk, unless all are stopped.
  while (step_ < chunks_.last_of(chunk)) {
    const std::int64_t end = chunks_.begin_piece(chunk, step_, parts_.interval.chunk());
    SCANLOOM_TRY(const bool ran, take_in_order(end > step_ ? end : chunks_.last_of(chunk)));
    if (!ran) return false;
  }
  return true;
}

Expected<bool> Speculation::take_in_order(std::int64_t last) {
  while (step_ < last) {
    const std::int64_t end = std::min(last, step_ + parts_.interval.chunk());
    if (!parts_.main.take(step_, end)) return false;
    const bool is_due = parts_.interval.due_after(end - step_);
    step_ = end;
    if (is_due) SCANLOOM_CHECK_OK(poll());
  }
  return true;
}

Expected<bool> Speculation::validate(SpeculativeChunk& chunk) {
  parts_.main.save(state_);
  bool agrees = state_ == guess_at(step_);
  State theirs(state_.size());
  int waited = 0;
  for (std::size_t i = 0; !agrees;) {
    std::int64_t end = 0;
    const auto progress = chunks_.wait_for(chunk, i, end, theirs);
    if (progress == SpeculativeChunks::Progress::ended) break;
    if (progress == SpeculativeChunks::Progress::running) {
      if (!is_trusted_ || ++waited > kPatience) chunks_.stop(chunk);
      SCANLOOM_CHECK_OK(poll());
      continue;
    }
    SCANLOOM_TRY(const bool ran, take_in_order(end));
    if (!ran) return false;
    parts_.main.save(state_);
    agrees = state_ == theirs;
    waited = 0;
    ++i;
  }
  if (agrees) {
    parts_.record.note_agreed(step_ - chunk.first());
    is_trusted_ = true;
    chunks_.allow_stealing();
    SCANLOOM_CHECK_OK(wait_for_end(chunk));
    const std::int64_t reached = chunks_.last_checkpoint(chunk, step_, theirs);
    if (reached > step_) parts_.main.begin(step_ = reached, theirs);
  } else if (step_ == chunks_.last_of(chunk)) {
    // A run is one try. The other chunks would hardly agree.
    if (!std::exchange(has_failed_, true)) parts_.record.note_failed(step_ - chunk.first());
    chunks_.close();
  }
  return take_in_order(chunks_.last_of(chunk));
}

Expected<void> Speculation::wait_for_end(SpeculativeChunk& chunk) {
  do {
    while (SpeculativeChunk* const part = chunks_.steal())
      SCANLOOM_CHECK_OK(speculate_in_main(*part));
    SCANLOOM_CHECK_OK(poll());
  } while (!chunks_.wait_for_end(chunk));
  return {};
}

void Speculation::speculate(SpeculativeChunk& chunk, StepTaker& taker,
                            FunctionRef<bool()> goes_on) {
  taker.begin(chunk.first(), guess_at(chunk.first()));
  State state(state_.size());
  PollInterval interval;
  interval.start(Clock::now());
  std::int64_t at = chunk.first();
  while (true) {
    const std::int64_t last = chunks_.begin_piece(chunk, at);
    if (last == at) return;
    while (at < last) {
      const std::int64_t end = std::min(last, at + interval.chunk());
      if (chunk.is_stopped() || !taker.take(at, end)) return chunks_.abandon(chunk);
      if (interval.due_after(end - at)) {
        interval.polled(Clock::now());
        if (!goes_on()) return chunks_.abandon(chunk);
      }
      at = end;
    }
    taker.save(state);
    chunks_.add_checkpoint(chunk, at, state);
  }
}

Expected<void> Speculation::speculate_in_main(SpeculativeChunk& chunk) {
  Expected<void> polled;
  if (!ahead_) ahead_ = parts_.make_taker();
  speculate(chunk, *ahead_, [&] {
    polled = poll();
    return polled.has_value();
  });
  return polled;
}

Speculation::State Speculation::guess_at(std::int64_t step) const {
  State state = initial_;
  std::size_t at = 0;
  for (const plan::Speculation::State& each : parts_.speculation.states) {
    if (each.increment) {
      std::uint64_t value = 0;
      std::memcpy(&value, state.data() + at, sizeof value);
      value +=
          static_cast<std::uint64_t>(step - first_) * static_cast<std::uint64_t>(*each.increment);
      std::memcpy(state.data() + at, &value, sizeof value);
    }
    at += static_cast<std::size_t>(each.bytes);
  }
  return state;
}

}  // namespace scanloom::runtime
