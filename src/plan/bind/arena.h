// ArenaPlanner: assigns each buffer an offset in one block of memory, given when it is first
// written and last read. Time follows the flat list of instructions. A loop repeats its part of it,
// so a buffer that was born before a loop and is used inside lives to the loop's end.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "plan/binding.h"

namespace scanloom::plan {

using BufferId = std::int32_t;

class ArenaPlanner {
 public:
  /// Adds a buffer that is born now, inside the innermost open loop.
  BufferId add(std::int64_t bytes);
  /// Marks the buffer as read or written now.
  void use(BufferId buffer);
  /// Marks the buffer as unused after all.
  void drop(BufferId buffer);
  /// Extends the life of a buffer, born earlier, to at least the end of `moment`.
  void keep_until(BufferId buffer, std::int32_t moment);
  /// Advances by one instruction. Opening and closing a loop takes moments too, so a moment is not
  /// an index into the list.
  void tick() { ++now_; }
  [[nodiscard]] std::int32_t now() const { return now_; }

  void open_loop();
  /// Buffers that were born outside the loop and used inside live until here.
  void close_loop();

  /// Assigns offsets (multiples of 64), best fit in order of size; call once, at the end.
  /// Error: limit_reached (offsets beyond 2^63).
  Expected<void> place();
  [[nodiscard]] std::int64_t offset(BufferId buffer) const { return at(buffer).offset; }
  [[nodiscard]] std::int64_t total_bytes() const { return total_; }
  [[nodiscard]] const std::vector<ArenaHistory::Buffer>& buffers() const { return buffers_; }

 private:
  using Buffer = ArenaHistory::Buffer;
  struct OpenLoop {
    std::int32_t begin = 0;
    std::vector<BufferId> used;
  };
  Buffer& at(BufferId id) { return buffers_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Buffer& at(BufferId id) const {
    return buffers_[static_cast<std::size_t>(id)];
  }

  std::vector<Buffer> buffers_;
  std::vector<OpenLoop> loops_;
  std::int32_t now_ = 0;
  std::int64_t total_ = 0;
};

}  // namespace scanloom::plan
