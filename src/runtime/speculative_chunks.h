// SpeculativeChunks: the chunks of one loop that is speculated, in the order of their steps: which
// thread has them, how far they are, and the states that each had on its way (checkpoints). The
// main thread walks along the front; other threads compute chunks ahead of it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <vector>

namespace scanloom::runtime {

/// Sizes in steps.
struct ChunkSizes {
  int parts = 1;                 ///< chunks at first
  std::int64_t first_piece = 1;  ///< of a chunk's first piece; later ones are longer
  std::int64_t head_start = 0;   ///< how much shorter the first chunk is than the others
  std::int64_t min_stolen = 1;   ///< minimum of a chunk split off another one
};

/// Steps [first, last) and how far they are. Guarded by the mutex of SpeculativeChunks.
class SpeculativeChunk {
 public:
  SpeculativeChunk(std::int64_t first, std::int64_t last)
      : first_(first), last_(last), until_(first) {}

  [[nodiscard]] std::int64_t first() const { return first_; }
  /// Whether the thread that has it should not take more steps. Any thread may ask.
  [[nodiscard]] bool is_stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  friend class SpeculativeChunks;

  const std::int64_t first_;
  std::int64_t last_;   // lowered when a part is split off
  std::int64_t until_;  // the end of the piece that is being computed
  bool taken_ = false;  // a thread has or had it
  bool ended_ = false;  // no thread computes it any more
  std::atomic<bool> stopped_ = false;
  std::vector<std::int64_t> steps_;  // of the checkpoints: ends of pieces
  std::vector<std::byte> states_;    // one after the other
};

/// Thread safe, except that only the main thread may call what names the front.
class SpeculativeChunks {
 public:
  SpeculativeChunks(std::int64_t first, std::int64_t last, std::size_t state_bytes,
                    const ChunkSizes& sizes);

  // The main thread:

  /// Returns the first chunk whose steps are not committed; nullptr: all are.
  [[nodiscard]] SpeculativeChunk* front();
  /// Takes the front unless another thread has it.
  bool take_front();
  /// Removes the front, whose steps are committed.
  void commit_front();
  enum class Progress : std::uint8_t { running, available, ended };
  /// Waits a moment for checkpoint `index`, and copies its state if it is available. Sets `step` to
  /// the step after it.
  Progress wait_for(const SpeculativeChunk& chunk, std::size_t index, std::int64_t& step,
                    std::span<std::byte> state);
  /// Waits a moment for the thread that has the chunk; returns whether it has ended.
  bool wait_for_end(const SpeculativeChunk& chunk);
  /// Copies the last checkpoint of a chunk that has ended; returns its step, or `otherwise` if
  /// there is none.
  std::int64_t last_checkpoint(const SpeculativeChunk& chunk, std::int64_t otherwise,
                               std::span<std::byte> state);
  [[nodiscard]] std::int64_t last_of(const SpeculativeChunk& chunk);
  /// Asks the thread that has the chunk to take no more steps.
  void stop(SpeculativeChunk& chunk) { chunk.stopped_ = true; }
  /// Lets threads without work split chunks of others.
  void allow_stealing();
  /// Lets threads leave for which there will be no work.
  void allow_leaving();
  /// Stops all chunks, and makes take_or_wait return nullptr.
  void close();

  // Any thread:

  /// Takes the next chunk that no thread has; nullptr: none.
  SpeculativeChunk* take();
  /// Splits the chunk of which most is left and takes its second part; nullptr: none is long
  /// enough.
  SpeculativeChunk* steal();
  /// Takes or steals a chunk, if necessary waits until that is possible; nullptr: it will not be.
  SpeculativeChunk* take_or_wait();
  /// Returns where the piece that begins at `step` ends, after at most `wanted` steps, if that is
  /// not 0; or `step`, if the chunk has ended.
  std::int64_t begin_piece(SpeculativeChunk& chunk, std::int64_t step, std::int64_t wanted = 0);
  /// Adds a checkpoint: the state before `step`.
  void add_checkpoint(SpeculativeChunk& chunk, std::int64_t step, std::span<const std::byte> state);
  /// Ends a chunk at its last checkpoint.
  void abandon(SpeculativeChunk& chunk);

 private:
  using Lock = std::unique_lock<std::mutex>;
  void end(SpeculativeChunk& chunk);
  SpeculativeChunk* take_locked();
  SpeculativeChunk* steal_locked();
  [[nodiscard]] std::int64_t piece_of(const SpeculativeChunk& chunk, std::int64_t step) const;
  /// Waits until the chunks change, or for a moment.
  void wait_a_moment(Lock& lock);

  const std::size_t state_bytes_;
  const ChunkSizes sizes_;
  std::mutex mutex_;                        // guards the members below
  std::condition_variable changed_;         // for the main thread: a checkpoint, or an end
  std::condition_variable work_;            // for the others
  std::atomic<std::uint32_t> changes_ = 0;  // read without the mutex
  std::list<SpeculativeChunk> chunks_;      // at stable addresses
  bool may_steal_ = false, may_leave_ = false, is_closed_ = false;
};

}  // namespace scanloom::runtime
