// ResultMemory: memory for large results, reused once the results are dropped. Fresh memory would
// cost a page fault for every 4 kB written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace scanloom::runtime {

class ResultMemory {
 public:
  ResultMemory();

  /// Returns uninitialized memory, 64-byte aligned; null if the allocation fails. Any thread may
  /// drop it, before or after this object dies. A bounded amount of dropped memory is kept.
  std::shared_ptr<std::byte[]> take(std::int64_t bytes);

 private:
  class Kept;
  std::shared_ptr<Kept> kept_;
};

}  // namespace scanloom::runtime
