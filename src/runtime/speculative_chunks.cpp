#include "runtime/speculative_chunks.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/spin.h"

namespace scanloom::runtime {
namespace {

/// How often the main thread asks for changes before it sleeps: about 20 microseconds, since waking
/// a thread takes about as long.
constexpr int kSpins = 500;
constexpr auto kMoment = std::chrono::microseconds(200);
/// A piece is this fraction of the steps before it in its chunk, so that the steps taken again
/// exceed those needed by no more than that; but pieces are not too long to split a chunk well.
constexpr std::int64_t kShareOfPast = 4, kPiecesOfChunk = 32;

}  // namespace

SpeculativeChunks::SpeculativeChunks(std::int64_t first, std::int64_t last, std::size_t state_bytes,
                                     const ChunkSizes& sizes)
    : state_bytes_(state_bytes), sizes_(sizes) {
  const std::int64_t parts = std::clamp<std::int64_t>(sizes.parts, 1, last - first);
  const std::int64_t lead = sizes.head_start < (last - first) / parts ? sizes.head_start : 0;
  std::int64_t at = first;
  for (std::int64_t i = 0; i < parts; ++i) {
    // The main thread takes `lead` steps of each later chunk again.
    const std::int64_t left = last - at - (i == 0 ? lead * (parts - 1) : 0);
    const std::int64_t steps = std::max<std::int64_t>(left / (parts - i), 1);
    chunks_.emplace_back(at, at + steps);
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
  chunks_.pop_front();
}

void SpeculativeChunks::wait_a_moment(Lock& lock) {
  const std::uint32_t before = changes_.load(std::memory_order_relaxed);
  lock.unlock();
  for (int i = 0; i < kSpins && changes_.load(std::memory_order_relaxed) == before; ++i)
    spin_pause();
  lock.lock();
  if (changes_.load(std::memory_order_relaxed) == before) changed_.wait_for(lock, kMoment);
}

SpeculativeChunks::Progress SpeculativeChunks::wait_for(const SpeculativeChunk& chunk,
                                                        std::size_t index, std::int64_t& step,
                                                        std::span<std::byte> state) {
  Lock lock(mutex_);
  if (chunk.steps_.size() <= index && !chunk.ended_) wait_a_moment(lock);
  if (chunk.steps_.size() > index) {
    step = chunk.steps_[index];
    std::copy_n(chunk.states_.begin() + static_cast<std::ptrdiff_t>(index * state_bytes_),
                state_bytes_, state.begin());
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
  std::copy_n(chunk.states_.end() - static_cast<std::ptrdiff_t>(state_bytes_), state_bytes_,
              state.begin());
  return chunk.steps_.back();
}

std::int64_t SpeculativeChunks::last_of(const SpeculativeChunk& chunk) {
  const Lock lock(mutex_);
  return chunk.last_;
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

SpeculativeChunk* SpeculativeChunks::take() {
  const Lock lock(mutex_);
  return take_locked();
}

SpeculativeChunk* SpeculativeChunks::steal_locked() {
  if (is_closed_ || !may_steal_) return nullptr;
  const auto left = [](const SpeculativeChunk& chunk) {
    const bool is_running = chunk.taken_ && !chunk.ended_ && !chunk.is_stopped();
    return is_running ? chunk.last_ - chunk.until_ : 0;
  };
  const auto most = std::ranges::max_element(chunks_, {}, left);
  if (most == chunks_.end() || left(*most) < 2 * sizes_.min_stolen) return nullptr;
  const std::int64_t middle = most->until_ + left(*most) / 2;
  const auto made = chunks_.emplace(std::next(most), middle, most->last_);
  most->last_ = middle;
  made->taken_ = true;
  return &*made;
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
    if (may_steal_ && may_leave_) return nullptr;
    work_.wait(lock);
  }
}

std::int64_t SpeculativeChunks::piece_of(const SpeculativeChunk& chunk, std::int64_t step) const {
  const std::int64_t longest = (chunk.last_ - chunk.first_) / kPiecesOfChunk;
  const std::int64_t past = (step - chunk.first_) / kShareOfPast;
  return std::max({std::min(past, longest), sizes_.first_piece, std::int64_t{1}});
}

std::int64_t SpeculativeChunks::begin_piece(SpeculativeChunk& chunk, std::int64_t step,
                                            std::int64_t wanted) {
  const Lock lock(mutex_);
  if (step >= chunk.last_ || chunk.is_stopped()) {
    end(chunk);
    return step;
  }
  const std::int64_t steps = wanted > 0 ? wanted : piece_of(chunk, step);
  chunk.until_ = steps < chunk.last_ - step ? step + steps : chunk.last_;
  return chunk.until_;
}

void SpeculativeChunks::add_checkpoint(SpeculativeChunk& chunk, std::int64_t step,
                                       std::span<const std::byte> state) {
  const Lock lock(mutex_);
  chunk.steps_.push_back(step);
  chunk.states_.insert(chunk.states_.end(), state.begin(), state.end());
  ++changes_;
  changed_.notify_all();
}

void SpeculativeChunks::abandon(SpeculativeChunk& chunk) {
  const Lock lock(mutex_);
  end(chunk);
}

void SpeculativeChunks::end(SpeculativeChunk& chunk) {
  chunk.ended_ = true;
  ++changes_;
  changed_.notify_all();
}

}  // namespace scanloom::runtime
