#include "runtime/shape_cache.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace scanloom::runtime {
namespace {

constexpr std::size_t kBucket = 8;
/// A value that grows by a row per step has a different size in every step.
constexpr std::size_t kMaxOfCall = 4096, kMaxOfRun = 32768;
/// An entry whose key has this many words or more (thousands of operands) replaces all others.
constexpr std::size_t kLongKey = 512;

std::uint64_t hash_of(const plan::CallKey& key) {
  std::uint64_t hash = key.size();
  for (const std::int64_t word : key) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9E37'79B9'7F4A'7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

std::size_t max_cached_calls(std::size_t calls) {
  const std::size_t share = kMaxOfRun / std::max<std::size_t>(calls, 1);
  return std::clamp(std::bit_floor(share), kBucket, kMaxOfCall);
}

std::span<ShapeCache::Entry> ShapeCache::bucket_of(std::uint64_t hash) {
  const std::size_t buckets = entries_.size() / kBucket;
  return std::span(entries_).subspan(hash % buckets * kBucket, kBucket);
}

CachedCall* ShapeCache::find(const plan::CallKey& key) {
  if (entries_.empty()) return nullptr;
  const std::uint64_t hash = hash_of(key);
  for (Entry& entry : bucket_of(hash))
    if (entry.taken && entry.hash == hash && entry.key == key) return &entry.cached;
  return nullptr;
}

/// Returns a free entry of the bucket, or one to evict. Any choice works except always the oldest:
/// if more sizes recur in turn than fit, none would ever be found.
ShapeCache::Entry& ShapeCache::place(std::uint64_t hash) {
  const std::span<Entry> bucket = bucket_of(hash);
  const auto free = std::ranges::find(bucket, false, &Entry::taken);
  return free != bucket.end() ? *free : bucket[next_++ % kBucket];
}

void ShapeCache::grow() {
  std::vector<Entry> old(2 * entries_.size());
  std::swap(old, entries_);
  for (Entry& entry : old)
    if (entry.taken) {
      Entry& to = place(entry.hash);
      to = std::move(entry);
    }
}

CachedCall& ShapeCache::add(const plan::CallKey* key, CachedCall cached, std::size_t max) {
  if (key == nullptr) return unkept_ = std::move(cached);
  if (entries_.empty()) entries_.resize(kBucket);
  if (key->size() >= kLongKey) clear();
  const std::uint64_t hash = hash_of(*key);
  while (entries_.size() < max && std::ranges::all_of(bucket_of(hash), &Entry::taken)) grow();
  Entry& entry = place(hash);
  entry = {true, hash, *key, std::move(cached)};
  return entry.cached;
}

void ShapeCache::clear() { std::ranges::fill(entries_, Entry()); }

}  // namespace scanloom::runtime
