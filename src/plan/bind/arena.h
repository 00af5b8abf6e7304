// ArenaPlanner: offsets of buffers in one block of memory, from when each is first written and last
// read. Time goes with the flat list of instructions; inside a loop, time comes again, so a buffer
// of outside that is used in a loop lives to the loop's end.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"

namespace scanloom::plan {

using BufferId = std::int32_t;

class ArenaPlanner {
 public:
  /// A buffer that is born now, at the innermost open loop's depth.
  BufferId add(std::int64_t bytes);
  /// The buffer is read or written now.
  void use(BufferId buffer);
  /// Nobody reads or writes the buffer after all.
  void drop(BufferId buffer);
  /// It was born before, and is kept to the end of that moment, at least.
  void keep_until(BufferId buffer, std::int32_t moment);
  /// One instruction further. Loops take moments of their own, so that these are no places in the
  /// list.
  void tick() { ++now_; }
  [[nodiscard]] std::int32_t now() const { return now_; }

  void open_loop();
  /// Buffers that were used inside but born outside live until here.
  void close_loop();

  /// Assigns offsets (multiples of 64), best fit in order of size; call once, at the end.
  /// Error: limit_reached (offsets beyond 2^63).
  Expected<void> place();
  [[nodiscard]] std::int64_t offset(BufferId buffer) const { return at(buffer).offset; }
  [[nodiscard]] std::int64_t total_bytes() const { return total_; }

 private:
  struct Buffer {
    std::int64_t bytes = 0, offset = 0;
    std::int32_t born = 0, dies = 0;
  };
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
