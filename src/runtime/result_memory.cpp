#include "runtime/result_memory.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/aligned_bytes.h"

namespace scanloom::runtime {
namespace {

/// The allocator itself keeps the memory of smaller results.
constexpr std::int64_t kMinBytes = 256 * 1024;
/// A caller that still holds the results of the previous run uses two blocks per result in turn.
constexpr std::size_t kMaxBlocks = 8;
constexpr std::int64_t kMaxBytes = std::int64_t{256} << 20;

}  // namespace

class ResultMemory::Kept {
 public:
  struct Block {
    AlignedBytes memory;
    std::int64_t bytes = 0;
  };

  Kept() { blocks_.reserve(kMaxBlocks); }

  /// Returns a kept block that fits well; a block without memory if there is none.
  Block find(std::int64_t bytes) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find_if(blocks_, [&](const Block& block) {
      return block.bytes >= bytes && block.bytes - bytes <= bytes / 4;
    });
    if (found == blocks_.end()) return {};
    Block block = std::move(*found);
    total_ -= block.bytes;
    blocks_.erase(found);
    return block;
  }

  /// Keeps the block, dropping older ones if necessary.
  void give(Block block) {
    if (block.bytes > kMaxBytes) return;
    const std::scoped_lock lock(mutex_);
    while (blocks_.size() == kMaxBlocks || total_ + block.bytes > kMaxBytes) {
      total_ -= blocks_.front().bytes;
      blocks_.erase(blocks_.begin());
    }
    total_ += block.bytes;
    blocks_.push_back(std::move(block));
  }

 private:
  std::mutex mutex_;
  std::vector<Block> blocks_;  // in the order in which they were dropped
  std::int64_t total_ = 0;
};

ResultMemory::ResultMemory() : kept_(std::make_shared<Kept>()) {}

std::shared_ptr<std::byte[]> ResultMemory::take(std::int64_t bytes) {
  if (bytes < kMinBytes) {
    AlignedBytes memory = allocate_aligned(bytes);
    return std::shared_ptr<std::byte[]>(memory.release(), AlignedDelete{});
  }
  Kept::Block block = kept_->find(bytes);
  if (!block.memory) block = {allocate_aligned(bytes), bytes};
  if (!block.memory) return nullptr;
  const auto come_back = [kept = std::weak_ptr(kept_), size = block.bytes](std::byte* data) {
    AlignedBytes dropped(data);
    if (const auto keeper = kept.lock()) keeper->give({std::move(dropped), size});
  };
  return std::shared_ptr<std::byte[]>(block.memory.release(), come_back);
}

}  // namespace scanloom::runtime
