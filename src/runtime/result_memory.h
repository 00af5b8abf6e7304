// ResultMemory: memory of large results, used again once nobody holds them: fresh memory costs a
// page fault for every 4 kB that is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace scanloom::runtime {

class ResultMemory {
 public:
  ResultMemory();

  /// 64-byte aligned, not zeroed; null when there is no memory. It may be dropped by any thread,
  /// before or after this object; a bounded part of what was dropped is kept.
  std::shared_ptr<std::byte[]> take(std::int64_t bytes);

 private:
  class Kept;
  std::shared_ptr<Kept> kept_;
};

}  // namespace scanloom::runtime
