// ShapeCache: caches the result shapes and the kernel of a dynamic call by the shapes of its
// inputs. Shapes recur, those of a step in the next step and those of a growing value in the next
// run, and then cost one look-up. Used by DynamicCalls; one cache per call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/bind/dynamic.h"
#include "tensor/call.h"
#include "tensor/shape.h"

namespace scanloom::runtime {

/// Returns how many entries each of the `calls` caches of a Run may keep. An entry takes one or two
/// kilobytes; all of them together take a few megabytes at most.
std::size_t max_cached_calls(std::size_t calls);

struct CachedCall {
  std::vector<tensor::Shape> results;
  std::int64_t uses = 0;
  bool is_decided = false;  ///< whether `run` is final: a kernel, or the reference if none fits
  tensor::KernelFn run = nullptr;
  std::shared_ptr<const void> prepared;
  std::int64_t scratch_bytes = 0;
};

/// The entries of one call. An entry with a long key replaces all others. Not thread safe.
class ShapeCache {
 public:
  /// Returns the entry, valid until the next add() or clear(); nullptr if there is none.
  CachedCall* find(const plan::CallKey& key);
  /// Adds an entry under a key that has none yet. Without a key, the entry lasts until the next
  /// such call. `max`: the number of entries kept, a power of two.
  CachedCall& add(const plan::CallKey* key, CachedCall cached, std::size_t max);
  void clear();

 private:
  struct Entry {
    bool taken = false;
    std::uint64_t hash = 0;  ///< of the key, to avoid reading its words, which are stored elsewhere
    plan::CallKey key;
    CachedCall cached;
  };
  /// Returns the entries of the bucket for keys with this hash.
  [[nodiscard]] std::span<Entry> bucket_of(std::uint64_t hash);
  Entry& place(std::uint64_t hash);
  void grow();

  std::vector<Entry> entries_;  ///< a power of two of buckets, one after the other
  std::size_t next_ = 0;        ///< the entry to evict next from a full bucket
  CachedCall unkept_;
};

}  // namespace scanloom::runtime
