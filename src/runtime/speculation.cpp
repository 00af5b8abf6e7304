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
/// Links, and the states of few-state recurrences, get so many times the steps after which states
/// have agreed.
constexpr std::int64_t kPatienceInSteps = 2;
/// After so many chunks that agreed, the next ones probably will. Only then are chunks linked: a
/// link from a wrong state writes over rows of the next chunk, which may be right. And until then
/// threads wait for parts of wrong chunks, which costs the time of waking them at the end.
constexpr std::int64_t kManyAgreed = 8;

SpeculatedState saved(const StepTaker& taker, std::int64_t bytes) {
  SpeculatedState state(static_cast<std::size_t>(bytes));
  taker.save(state);
  return state;
}

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
      of_chunk < kMinAgreed * facts.needed || plan.threads < 2)
    return plan.threads = 1, plan;
  plan.sizes.first_piece = kFirstPiece;
  plan.sizes.tail = facts.needed;
  plan.sizes.lead = facts.lead;
  plan.sizes.min_stolen =
      std::max({kMinAgreed * facts.needed,
                static_cast<std::int64_t>(kMinNanosecondsStolen / speculation.nanoseconds),
                std::int64_t{kFirstPiece}});
  return plan;
}

std::int64_t limit_bytes(SpeculationPlan& plan, const plan::Speculation& speculation,
                         std::int64_t steps, std::int64_t own_bytes) {
  // Chunks that are split have more checkpoints together than they had before.
  constexpr std::int64_t kSplit = 2;
  // Memory of checkpoints doubles when it is full.
  constexpr std::int64_t kGrowth = 2;
  // The states that a thread compares, and those of parts that are taken again.
  constexpr std::int64_t kStatesOfThread = 8;
  const std::int64_t parts = plan.sizes.parts;
  const std::int64_t of_chunk = steps / parts + plan.sizes.tail + 1;
  const std::int64_t checkpoints = 1 + most_checkpoints(of_chunk, plan.sizes.first_piece);
  const auto bytes_each = speculation.state_bytes + static_cast<std::int64_t>(sizeof(std::int64_t));
  plan.sizes.max_bytes = kSplit * parts * checkpoints * bytes_each;
  return kGrowth * plan.sizes.max_bytes +
         (parts + 1) * (own_bytes + kStatesOfThread * speculation.state_bytes);
}

Speculation::Speculation(const Parts& parts, const SpeculationPlan& plan, std::int64_t first,
                         std::int64_t last)
    : parts_(parts),
      plan_(plan),
      first_(first),
      facts_(parts.record.facts()),
      initial_(saved(parts.main, parts.speculation.state_bytes)),
      chunks_(first, last, initial_.size(), plan.sizes,
              [this](std::int64_t step) { return guess_at(step); }),
      step_(first),
      state_(initial_.size()),
      paired_states_(parts.speculation),
      pairs_(parts.record.pairs()),
      is_linking_(facts_.needed > 0 && facts_.agreed_since >= kManyAgreed),
      is_trusted_(facts_.agreed > 0) {
  if (is_trusted_) chunks_.allow_stealing();
  const bool has_few_states = !paired_states_.is_empty() && !pairs_.is_full();
  const bool may_be_wrong =
      (!is_trusted_ || !pairs_.is_empty()) && facts_.agreed_since < kManyAgreed;
  chunks_.expect_redo(has_few_states && may_be_wrong);
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
      chunks_.end(*chunk);
    }
  }
}

Expected<bool> Speculation::run_main() {
  chunks_.allow_leaving();
  const Clock::time_point begin = Clock::now();
  if (plan_.is_forced) SCANLOOM_CHECK_OK(compute_ahead());
  SpeculativeChunk* chunk = chunks_.front();
  SCANLOOM_TRY(bool ran, take_front_in_order(*chunk));
  const std::chrono::duration<double> in_order = Clock::now() - begin;
  const std::int64_t steps_in_order = step_ - first_;
  const std::int64_t of_others = chunks_.outcome_of(*chunk).split;  // they waited for this thread
  if (of_others > 0)
    parts_.record.note_lead(-of_others, steps_in_order);
  else if (is_trusted_)
    pace_ = in_order.count() / static_cast<double>(steps_in_order);
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
  if (!paired_states_.is_empty()) parts_.record.keep_pairs(pairs_);
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
  SCANLOOM_TRY(const Verdict verdict, compare(chunk));
  if (verdict == Verdict::failed) return false;
  if (verdict == Verdict::agrees) SCANLOOM_CHECK_OK(accept(chunk));
  if (verdict == Verdict::cut && plan_.is_forced) SCANLOOM_CHECK_OK(compute_ahead());
  // Where states have pairs, the chunk was too short to take it again in parts; others may be
  // longer.
  if (verdict == Verdict::differs && step_ == chunks_.last_of(chunk) && !pairs_.is_reliable()) {
    // A run is one try. The other chunks would hardly agree.
    if (!std::exchange(has_failed_, true)) parts_.record.note_failed(step_ - chunk.first());
    chunks_.close();
  }
  return take_in_order(chunks_.last_of(chunk));
}

Expected<Speculation::Verdict> Speculation::compare(SpeculativeChunk& chunk) {
  parts_.main.save(state_);
  State theirs = chunks_.guess_of(chunk);
  if (state_ == theirs) return Verdict::agrees;
  if (!theirs.empty()) pairs_.begin(paired_states_.of(theirs), paired_states_.of(state_));
  theirs.resize(state_.size());
  int waited = 0;
  for (std::size_t i = 0;;) {
    std::int64_t end = 0;
    const auto progress = chunks_.wait_for(chunk, i, end, theirs);
    if (progress == SpeculativeChunks::Progress::ended) return Verdict::differs;
    if (progress == SpeculativeChunks::Progress::running) {
      const bool in_vain = step_ == chunks_.last_of(chunk);  // its thread may be at the next chunk
      if (!is_trusted_ || in_vain || ++waited > kPatience) {
        chunks_.stop(chunk);
      } else {
        SCANLOOM_CHECK_OK(compute_stolen());
      }
      SCANLOOM_CHECK_OK(poll());
      continue;
    }
    SCANLOOM_TRY(const bool ran, take_in_order(end));
    if (!ran) return Verdict::failed;
    parts_.main.save(state_);
    if (state_ == theirs) return Verdict::agrees;
    if (redo(chunk, theirs)) return Verdict::cut;
    waited = 0;
    ++i;
  }
}

Expected<void> Speculation::accept(SpeculativeChunk& chunk) {
  if (chunk.is_redone()) {
    parts_.record.note_redone();
  } else {
    const std::int64_t taken = step_ - chunk.first();
    parts_.record.note_agreed(taken > 0 ? taken : chunks_.outcome_of(chunk).linked);
    is_trusted_ = true;
    chunks_.allow_stealing();
  }
  const Clock::time_point agreed = Clock::now();
  SCANLOOM_CHECK_OK(wait_for_end(chunk));
  note_lead(chunk, agreed);
  State theirs(state_.size());
  const std::int64_t reached = chunks_.last_checkpoint(chunk, step_, theirs);
  if (reached > step_) parts_.main.begin(step_ = reached, theirs);
  return {};
}

void Speculation::note_lead(const SpeculativeChunk& chunk, Clock::time_point agreed) {
  const double pace = std::exchange(pace_, 0);
  if (pace <= 0 || chunk.is_redone()) return;
  const SpeculativeChunks::Outcome outcome = chunks_.outcome_of(chunk);
  const std::chrono::duration<double> late = outcome.ended_at - agreed;
  // Steps that others took would have made it end later.
  const std::int64_t steps = static_cast<std::int64_t>(late.count() / pace) + outcome.split;
  parts_.record.note_lead(steps, chunk.first() - first_);
}

bool Speculation::redo(SpeculativeChunk& chunk, const State& theirs) {
  if (paired_states_.is_empty() || pairs_.is_full() || chunk.is_redone() || has_failed_)
    return false;
  pairs_.note(paired_states_.of(theirs), paired_states_.of(state_));
  if (pairs_.is_full()) chunks_.expect_redo(false);
  // Until then the states may agree, as in earlier runs.
  const std::int64_t hopeful = kPatienceInSteps * facts_.needed;
  if (!pairs_.is_reliable() || step_ - chunk.first() < hopeful) return false;
  const std::int64_t last = chunks_.last_of(chunk);
  const std::int64_t threads = plan_.is_forced ? plan_.sizes.parts : plan_.threads;
  std::vector<RedonePart> parts =
      cut_by_pairs(pairs_, paired_states_, chunks_.checkpoints_if_ended(chunk), step_, last,
                   std::min(threads, (last - step_) / plan_.sizes.min_stolen));
  if (parts.empty()) return false;
  chunks_.redo(chunk, parts);
  return true;
}

Expected<void> Speculation::wait_for_end(SpeculativeChunk& chunk) {
  do {
    SCANLOOM_CHECK_OK(compute_stolen());
    SCANLOOM_CHECK_OK(poll());
  } while (!chunks_.wait_for_end(chunk));
  return {};
}

Expected<void> Speculation::compute_stolen() {
  while (SpeculativeChunk* const part = chunks_.steal())
    SCANLOOM_CHECK_OK(speculate_in_main(*part));
  return {};
}

Expected<void> Speculation::compute_ahead() {
  // The last first: each links the next.
  while (SpeculativeChunk* const chunk = chunks_.take_last())
    SCANLOOM_CHECK_OK(speculate_in_main(*chunk));
  return {};
}

/// Takes pieces of steps for one chunk, until it is stopped.
class Speculation::Pieces {
 public:
  Pieces(const SpeculativeChunk& chunk, StepTaker& taker, FunctionRef<bool()> goes_on)
      : chunk_(chunk), taker_(taker), goes_on_(goes_on) {
    interval_.start(Clock::now());
  }

  /// Takes steps [first, last) and copies the state after them; returns whether they succeeded.
  bool take(std::int64_t first, std::int64_t last, State& after) {
    while (first < last) {
      const std::int64_t end = std::min(last, first + interval_.chunk());
      if (chunk_.is_stopped() || !taker_.take(first, end)) return false;
      if (interval_.due_after(end - first)) {
        interval_.polled(Clock::now());
        if (!goes_on_()) return false;
      }
      first = end;
    }
    taker_.save(after);
    return true;
  }

 private:
  const SpeculativeChunk& chunk_;
  StepTaker& taker_;
  FunctionRef<bool()> goes_on_;
  PollInterval interval_;
};

void Speculation::speculate(SpeculativeChunk& chunk, StepTaker& taker,
                            FunctionRef<bool()> goes_on) {
  State state = chunks_.guess_of(chunk);
  taker.begin(chunk.first(), state);
  Pieces pieces(chunk, taker, goes_on);
  std::int64_t at = chunk.first();
  while (true) {
    const std::int64_t last = chunks_.begin_piece(chunk, at);
    if (last == at) break;
    if (!pieces.take(at, last, state)) return chunks_.end(chunk);
    at = last;
    if (!chunks_.add_checkpoint(chunk, at, state)) return chunks_.end(chunk);
  }
  if (is_linking_ && !chunk.is_stopped()) link(chunk, pieces, at, state);
  chunks_.end(chunk);
}

void Speculation::link(SpeculativeChunk& chunk, Pieces& pieces, std::int64_t step,
                       const State& state) {
  const std::int64_t limit = step + kPatienceInSteps * std::max(facts_.needed, kFirstPiece);
  State mine(state.size()), theirs(state.size());
  while (true) {
    const std::int64_t end = chunks_.checkpoint_to_link(chunk, state, theirs);
    if (end < 0 || end > limit || !pieces.take(step, end, mine)) return;
    if (mine == theirs) return chunks_.link(chunk, state);
    step = end;
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
