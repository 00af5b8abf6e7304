// SpeculativeChunks: the chunks of one loop that is speculated, in the order of their steps: which
// thread has them, how far they are, and the states that each had on its way (checkpoints). The
// main thread walks along the front; other threads compute chunks ahead of it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace scanloom::runtime {

/// Sizes in steps.
struct ChunkSizes {
  int parts = 1;                 ///< chunks at first
  std::int64_t first_piece = 1;  ///< of a chunk's first piece; later ones are longer
  std::int64_t tail = 0;         ///< how much longer the last chunk is than the others
  std::int64_t lead = 0;         ///< how much longer the first chunk is than those of other threads
  std::int64_t min_stolen = 1;   ///< minimum of a chunk split off another one
  /// Bytes that guesses and checkpoints may take.
  std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max();
};
/// Returns how many checkpoints a chunk of that many steps has at most.
std::int64_t most_checkpoints(std::int64_t steps, std::int64_t first_piece);

/// The states of all carried values, one after the other.
using SpeculatedState = std::vector<std::byte>;

/// Steps [first, last) and how far they are. Guarded by the mutex of SpeculativeChunks.
class SpeculativeChunk {
 public:
  SpeculativeChunk(std::int64_t first, std::int64_t last, SpeculatedState guess,
                   bool is_redone = false)
      : first_(first),
        is_redone_(is_redone),
        last_(last),
        until_(first),
        guess_(std::move(guess)) {}

  [[nodiscard]] std::int64_t first() const { return first_; }
  /// Whether its steps were taken before, from a wrong guess.
  [[nodiscard]] bool is_redone() const { return is_redone_; }
  /// Whether the thread that has it should not take more steps. Any thread may ask.
  [[nodiscard]] bool is_stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  friend class SpeculativeChunks;

  const std::int64_t first_;
  const bool is_redone_;
  std::int64_t last_;       // lowered when a part is split off
  std::int64_t until_;      // the end of the piece that is being computed
  std::int64_t split_ = 0;  // steps that were split off
  bool taken_ = false;      // a thread has or had it
  bool ended_ = false;      // no thread computes it any more
  std::chrono::steady_clock::time_point ended_at_;
  std::atomic<bool> stopped_ = false;
  SpeculatedState guess_;  // that its rows begin with; empty: another thread is writing them again
  std::int64_t linked_ = 0;          // how many steps that thread has taken again
  std::size_t dropped_ = 0;          // first checkpoints, whose rows have been written again
  std::vector<std::int64_t> steps_;  // of the checkpoints: ends of pieces
  std::vector<std::byte> states_;    // one after the other
};

/// A part of a chunk that is to be taken again.
struct RedonePart {
  std::int64_t first = 0;
  SpeculatedState guess;
};

/// Thread safe, except that only the main thread may call what names the front.
class SpeculativeChunks {
 public:
  /// Returns a guess of the state that a step begins with. Called by any thread.
  using Guess = std::function<SpeculatedState(std::int64_t step)>;
  SpeculativeChunks(std::int64_t first, std::int64_t last, std::size_t state_bytes,
                    const ChunkSizes& sizes, Guess guess);

  // The main thread:

  /// Returns the first chunk whose steps are not committed; nullptr: all are.
  [[nodiscard]] SpeculativeChunk* front();
  /// Takes the front unless another thread has it.
  bool take_front();
  /// Removes the front, whose steps are committed.
  void commit_front();
  enum class Progress : std::uint8_t { running, available, ended };
  /// Waits a moment for checkpoint `index` of those that count, and copies its state if it is
  /// available. Sets `step` to the step after it.
  Progress wait_for(const SpeculativeChunk& chunk, std::size_t index, std::int64_t& step,
                    std::span<std::byte> state);
  /// Waits a moment for the thread that has the chunk; returns whether it has ended.
  bool wait_for_end(const SpeculativeChunk& chunk);
  /// Copies the last checkpoint of a chunk that has ended; returns its step, or `otherwise` if
  /// there is none.
  std::int64_t last_checkpoint(const SpeculativeChunk& chunk, std::int64_t otherwise,
                               std::span<std::byte> state);
  [[nodiscard]] std::int64_t last_of(const SpeculativeChunk& chunk);
  /// The fate of a chunk.
  struct Outcome {
    std::int64_t linked = 0;  ///< first steps that the thread of the chunk before has taken again
    std::int64_t split = 0;   ///< last steps that were split off
    std::chrono::steady_clock::time_point ended_at;  ///< when its thread left it
  };
  [[nodiscard]] Outcome outcome_of(const SpeculativeChunk& chunk);
  /// The checkpoints of a chunk, which nobody changes once it has ended.
  struct Checkpoints {
    std::span<const std::int64_t> steps;
    std::span<const std::byte> states;
  };
  /// Returns those that count; none while the chunk is being computed.
  [[nodiscard]] Checkpoints checkpoints_if_ended(const SpeculativeChunk& chunk);
  /// Cuts the front, which has ended: its steps from the first part on are chunks of their own.
  void redo(SpeculativeChunk& chunk, std::span<RedonePart> parts);
  /// Keeps threads without work, because parts of chunks may have to be taken again; or not.
  void expect_redo(bool expected);
  /// Asks the thread that has the chunk to take no more steps.
  void stop(SpeculativeChunk& chunk) { chunk.stopped_ = true; }
  /// Lets threads without work split chunks of others.
  void allow_stealing();
  /// Lets threads leave for which there will be no work.
  void allow_leaving();
  /// Stops all chunks, and makes take_or_wait return nullptr.
  void close();

  // Any thread:

  /// Takes the last chunk that no thread has; nullptr: none.
  SpeculativeChunk* take_last();
  /// Splits the chunk of which most is left and takes its second part; nullptr: none is long
  /// enough, or there is no memory for one more, or `max_bytes` are held.
  SpeculativeChunk* steal();
  /// Takes or steals a chunk, if necessary waits until that is possible; nullptr: it will not be.
  SpeculativeChunk* take_or_wait();
  /// Returns the guess with which a chunk begins; empty: none, since its rows are not those of one.
  SpeculatedState guess_of(const SpeculativeChunk& chunk);
  /// Returns where the piece that begins at `step` ends, after at most `wanted` steps, if that is
  /// not 0; or `step`, if there are no more.
  std::int64_t begin_piece(SpeculativeChunk& chunk, std::int64_t step, std::int64_t wanted = 0);
  /// Adds a checkpoint, the state before `step`; returns false if that would exceed `max_bytes`.
  bool add_checkpoint(SpeculativeChunk& chunk, std::int64_t step, std::span<const std::byte> state);
  /// Ends a chunk at its last checkpoint.
  void end(SpeculativeChunk& chunk);

  // The thread that has taken all steps of a chunk, which takes those of the next one again until
  // it has the state of a checkpoint there:

  /// Copies the first checkpoint of the next chunk, the one after it when called again, because the
  /// first differed; returns its step, or -1 if there is none, or if the next chunk begins with
  /// `state` anyway.
  std::int64_t checkpoint_to_link(const SpeculativeChunk& chunk, std::span<const std::byte> state,
                                  std::span<std::byte> checkpoint);
  /// Says that the next chunk's rows are now those of steps from `state`.
  void link(const SpeculativeChunk& chunk, std::span<const std::byte> state);

 private:
  using Lock = std::unique_lock<std::mutex>;
  SpeculativeChunk* take_locked();
  SpeculativeChunk* steal_locked();
  std::int64_t copy_checkpoint(const SpeculativeChunk& chunk, std::size_t index,
                               std::span<std::byte> state) const;
  [[nodiscard]] std::int64_t piece_of(const SpeculativeChunk& chunk, std::int64_t step) const;
  /// Waits until the chunks change, or for a moment.
  void wait_a_moment(Lock& lock);

  const std::size_t state_bytes_;
  const std::int64_t bytes_each_;  // of a guess or checkpoint
  const ChunkSizes sizes_;
  const Guess guess_;
  std::mutex mutex_;                        // guards the members below
  std::condition_variable changed_;         // for the main thread: a checkpoint, or an end
  std::condition_variable work_;            // for the others
  std::atomic<std::uint32_t> changes_ = 0;  // read without the mutex
  std::list<SpeculativeChunk> chunks_;      // at stable addresses
  std::int64_t held_ = 0;                   // bytes of guesses and checkpoints
  bool may_steal_ = false, may_leave_ = false, may_redo_ = false, is_closed_ = false;
};

}  // namespace scanloom::runtime
