#include "runtime/speculative_chunks.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "base/spin.h"

namespace scanloom::runtime {
namespace {

/// How long the main thread asks for changes before it sleeps: on virtual machines, waking a thread
/// takes about as long.
constexpr auto kSpin = std::chrono::microseconds(50);
constexpr auto kMoment = std::chrono::microseconds(200);
/// A piece is this fraction of the steps before it in its chunk, so that the steps taken again
/// exceed those needed by no more than that; but pieces are not too long to split a chunk well.
constexpr std::int64_t kShareOfPast = 4, kPiecesOfChunk = 32;
/// The lead is at most this fraction of a chunk.
constexpr std::int64_t kShareOfLead = 8;

SpeculativeChunk* after(std::list<SpeculativeChunk>& chunks, const SpeculativeChunk& chunk) {
  const auto is_it = [&](const SpeculativeChunk& each) { return &each == &chunk; };
  const auto next = std::next(std::ranges::find_if(chunks, is_it));
  return next == chunks.end() ? nullptr : &*next;
}

/// Returns the steps of the next piece of a chunk of `steps` steps, `past` of which are taken.
std::int64_t next_piece(std::int64_t steps, std::int64_t past, std::int64_t first_piece) {
  return std::max(
      {std::min(past / kShareOfPast, steps / kPiecesOfChunk), first_piece, std::int64_t{1}});
}

}  // namespace

std::int64_t most_checkpoints(std::int64_t steps, std::int64_t first_piece) {
  std::int64_t count = 0;
  for (std::int64_t past = 0; past < steps; ++count) past += next_piece(steps, past, first_piece);
  return count;
}

SpeculativeChunks::SpeculativeChunks(std::int64_t first, std::int64_t last, std::size_t state_bytes,
                                     const ChunkSizes& sizes, Guess guess)
    : state_bytes_(state_bytes),
      bytes_each_(static_cast<std::int64_t>(state_bytes + sizeof(std::int64_t))),
      sizes_(sizes),
      guess_(std::move(guess)) {
  const std::int64_t parts = std::clamp<std::int64_t>(sizes.parts, 1, last - first);
  const std::int64_t tail = sizes.tail < (last - first) / parts ? sizes.tail : 0;
  // It was learned in longer chunks if it is a large part of these.
  const std::int64_t limit = (last - first) / parts / kShareOfLead;
  const std::int64_t lead = std::clamp(sizes.lead, -limit, limit);
  std::int64_t at = first;
  for (std::int64_t i = 0; i < parts; ++i) {
    // Each thread but the last takes `tail` steps of the chunk after its own again.
    const std::int64_t left = last - at - (i < parts - 1 ? tail : 0);
    const std::int64_t before = i == 0 ? (parts - 1) * lead : 0;
    const std::int64_t steps = std::max<std::int64_t>((left + before) / (parts - i), 1);
    chunks_.emplace_back(at, at + steps, guess_(at));
    held_ += bytes_each_;
    at += steps;
  }
}

SpeculativeChunk* SpeculativeChunks::front() {
  const Lock lock(mutex_);
  return chunks_.empty() ? nullptr : &chunks_.front();
}

bool SpeculativeChunks::take_front() {
  const Lock lock(mutex_);
  return !std::exchange(chunks_.front().taken_, true);
}

void SpeculativeChunks::commit_front() {
  const Lock lock(mutex_);
  held_ -= (1 + std::ssize(chunks_.front().steps_)) * bytes_each_;
  chunks_.pop_front();
}

void SpeculativeChunks::wait_a_moment(Lock& lock) {
  const std::uint32_t before = changes_.load(std::memory_order_relaxed);
  lock.unlock();
  const auto has_changed = [&] { return changes_.load(std::memory_order_relaxed) != before; };
  spin_until(has_changed, kSpin);
  lock.lock();
  if (!has_changed()) changed_.wait_for(lock, kMoment);
}

SpeculativeChunks::Progress SpeculativeChunks::wait_for(const SpeculativeChunk& chunk,
                                                        std::size_t index, std::int64_t& step,
                                                        std::span<std::byte> state) {
  Lock lock(mutex_);
  index += chunk.dropped_;
  if (chunk.steps_.size() <= index && !chunk.ended_) wait_a_moment(lock);
  if (chunk.steps_.size() > index) {
    step = copy_checkpoint(chunk, index, state);
    return Progress::available;
  }
  return chunk.ended_ ? Progress::ended : Progress::running;
}

bool SpeculativeChunks::wait_for_end(const SpeculativeChunk& chunk) {
  Lock lock(mutex_);
  if (!chunk.ended_) wait_a_moment(lock);
  return chunk.ended_;
}

std::int64_t SpeculativeChunks::last_checkpoint(const SpeculativeChunk& chunk,
                                                std::int64_t otherwise,
                                                std::span<std::byte> state) {
  const Lock lock(mutex_);
  if (chunk.steps_.empty()) return otherwise;
  return copy_checkpoint(chunk, chunk.steps_.size() - 1, state);
}

std::int64_t SpeculativeChunks::copy_checkpoint(const SpeculativeChunk& chunk, std::size_t index,
                                                std::span<std::byte> state) const {
  std::copy_n(chunk.states_.begin() + static_cast<std::ptrdiff_t>(index * state_bytes_),
              state_bytes_, state.begin());
  return chunk.steps_[index];
}

std::int64_t SpeculativeChunks::last_of(const SpeculativeChunk& chunk) {
  const Lock lock(mutex_);
  return chunk.last_;
}

SpeculativeChunks::Outcome SpeculativeChunks::outcome_of(const SpeculativeChunk& chunk) {
  const Lock lock(mutex_);
  return {chunk.linked_, chunk.split_, chunk.ended_at_};
}

SpeculativeChunks::Checkpoints SpeculativeChunks::checkpoints_if_ended(
    const SpeculativeChunk& chunk) {
  const Lock lock(mutex_);
  if (!chunk.ended_) return {};
  const std::span<const std::int64_t> steps = std::span(chunk.steps_).subspan(chunk.dropped_);
  return {
      steps,
      std::span(chunk.states_).subspan(chunk.dropped_ * state_bytes_, steps.size() * state_bytes_)};
}

void SpeculativeChunks::redo(SpeculativeChunk& chunk, std::span<RedonePart> parts) {
  const Lock lock(mutex_);
  std::int64_t last = chunk.last_;
  for (std::size_t i = parts.size(); i-- > 0;) {
    chunks_.emplace(std::next(chunks_.begin()), parts[i].first, last, std::move(parts[i].guess),
                    /*is_redone=*/true);
    held_ += bytes_each_;
    last = parts[i].first;
  }
  chunk.last_ = last;
  work_.notify_all();
}

void SpeculativeChunks::expect_redo(bool expected) {
  const Lock lock(mutex_);
  may_redo_ = expected;
  work_.notify_all();
}

void SpeculativeChunks::allow_stealing() {
  const Lock lock(mutex_);
  if (!std::exchange(may_steal_, true)) work_.notify_all();
}

void SpeculativeChunks::allow_leaving() {
  const Lock lock(mutex_);
  may_leave_ = true;
  work_.notify_all();
}

void SpeculativeChunks::close() {
  const Lock lock(mutex_);
  is_closed_ = true;
  for (SpeculativeChunk& chunk : chunks_) chunk.stopped_ = true;
  work_.notify_all();
}

SpeculativeChunk* SpeculativeChunks::take_locked() {
  if (is_closed_) return nullptr;
  const auto free = std::ranges::find(chunks_, false, &SpeculativeChunk::taken_);
  if (free == chunks_.end()) return nullptr;
  free->taken_ = true;
  return &*free;
}

SpeculativeChunk* SpeculativeChunks::take_last() {
  const Lock lock(mutex_);
  const auto free =
      std::find_if(chunks_.rbegin(), chunks_.rend(), [](const auto& each) { return !each.taken_; });
  if (is_closed_ || free == chunks_.rend()) return nullptr;
  free->taken_ = true;
  return &*free;
}

SpeculativeChunk* SpeculativeChunks::steal_locked() {
  if (is_closed_ || !may_steal_ || held_ + bytes_each_ > sizes_.max_bytes) return nullptr;
  const auto left = [](const SpeculativeChunk& chunk) {
    const bool is_running = chunk.taken_ && !chunk.ended_ && !chunk.is_stopped();
    return is_running ? chunk.last_ - chunk.until_ : 0;
  };
  const auto most = std::ranges::max_element(chunks_, {}, left);
  if (most == chunks_.end() || left(*most) < 2 * sizes_.min_stolen) return nullptr;
  const std::int64_t middle = most->until_ + left(*most) / 2;
  try {
    const auto made = chunks_.emplace(std::next(most), middle, most->last_, guess_(middle));
    most->split_ += most->last_ - middle;
    most->last_ = middle;
    made->taken_ = true;
    held_ += bytes_each_;
    return &*made;
  } catch (const std::bad_alloc&) {  // must not leave a thread of the pool
    return nullptr;
  }
}

SpeculativeChunk* SpeculativeChunks::steal() {
  const Lock lock(mutex_);
  return steal_locked();
}

SpeculativeChunk* SpeculativeChunks::take_or_wait() {
  Lock lock(mutex_);
  while (true) {
    if (is_closed_ && may_leave_) return nullptr;
    if (SpeculativeChunk* const chunk = take_locked()) return chunk;
    if (SpeculativeChunk* const chunk = steal_locked()) return chunk;
    // What is left of a chunk only becomes less.
    if (may_steal_ && may_leave_ && !may_redo_) return nullptr;
    work_.wait(lock);
  }
}

std::int64_t SpeculativeChunks::piece_of(const SpeculativeChunk& chunk, std::int64_t step) const {
  return next_piece(chunk.last_ - chunk.first_, step - chunk.first_, sizes_.first_piece);
}

std::int64_t SpeculativeChunks::begin_piece(SpeculativeChunk& chunk, std::int64_t step,
                                            std::int64_t wanted) {
  const Lock lock(mutex_);
  if (step >= chunk.last_ || chunk.is_stopped()) return step;
  const std::int64_t steps = wanted > 0 ? wanted : piece_of(chunk, step);
  chunk.until_ = steps < chunk.last_ - step ? step + steps : chunk.last_;
  return chunk.until_;
}

bool SpeculativeChunks::add_checkpoint(SpeculativeChunk& chunk, std::int64_t step,
                                       std::span<const std::byte> state) {
  const Lock lock(mutex_);
  if (held_ + bytes_each_ > sizes_.max_bytes) return false;
  // The state first: if memory runs out, each step still has one.
  chunk.states_.insert(chunk.states_.end(), state.begin(), state.end());
  chunk.steps_.push_back(step);
  held_ += bytes_each_;
  ++changes_;
  changed_.notify_all();
  return true;
}

void SpeculativeChunks::end(SpeculativeChunk& chunk) {
  const Lock lock(mutex_);
  chunk.ended_ = true;
  chunk.ended_at_ = std::chrono::steady_clock::now();
  ++changes_;
  changed_.notify_all();
}

SpeculatedState SpeculativeChunks::guess_of(const SpeculativeChunk& chunk) {
  const Lock lock(mutex_);
  return chunk.guess_;
}

std::int64_t SpeculativeChunks::checkpoint_to_link(const SpeculativeChunk& chunk,
                                                   std::span<const std::byte> state,
                                                   std::span<std::byte> checkpoint) {
  const Lock lock(mutex_);
  SpeculativeChunk* const next = after(chunks_, chunk);
  if (next == nullptr || next->dropped_ == next->steps_.size()) return -1;
  if (std::ranges::equal(next->guess_, state)) return -1;
  const bool has_differed = next->guess_.empty();
  next->guess_.clear();
  if (has_differed && ++next->dropped_ == next->steps_.size()) return -1;
  return copy_checkpoint(*next, next->dropped_, checkpoint);
}

void SpeculativeChunks::link(const SpeculativeChunk& chunk, std::span<const std::byte> state) {
  const Lock lock(mutex_);
  SpeculativeChunk& next = *after(chunks_, chunk);
  next.guess_.assign(state.begin(), state.end());
  next.linked_ = next.steps_[next.dropped_] - next.first_;
}

}  // namespace scanloom::runtime
