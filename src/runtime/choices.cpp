#include "runtime/choices.h"

#include <algorithm>
#include <utility>

namespace scanloom::runtime {
namespace {

constexpr std::size_t kBucket = 4;
/// Of one call: a value that grows by a row per step has as many sizes as there are steps.
constexpr std::size_t kMostEntries = 512;
/// Words of a key from which on one is enough: of operands by the thousand.
constexpr std::size_t kLongKey = 512;

std::size_t hash_of(const plan::CallKey& key) {
  std::uint64_t hash = key.size();
  for (const std::int64_t word : key) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9E37'79B9'7F4A'7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

std::span<Choices::Entry> Choices::bucket_of(const plan::CallKey& key) {
  const std::size_t buckets = entries_.size() / kBucket;
  return std::span(entries_).subspan(hash_of(key) % buckets * kBucket, kBucket);
}

Choice* Choices::find(const plan::CallKey& key) {
  if (entries_.empty()) return nullptr;
  for (Entry& entry : bucket_of(key))
    if (entry.taken && entry.key == key) return &entry.choice;
  return nullptr;
}

/// A free entry of the key's bucket, or one that is given up. Which one hardly matters, as long as
/// it is not always the oldest: of sizes that come in turn, but are too many, none would be found.
Choices::Entry& Choices::place(const plan::CallKey& key) {
  const std::span<Entry> bucket = bucket_of(key);
  const auto free = std::ranges::find(bucket, false, &Entry::taken);
  return free != bucket.end() ? *free : bucket[next_++ % kBucket];
}

void Choices::grow(std::int64_t& left) {
  left -= static_cast<std::int64_t>(entries_.size());
  std::vector<Entry> old(2 * entries_.size());
  std::swap(old, entries_);
  for (Entry& entry : old)
    if (entry.taken) {
      Entry& to = place(entry.key);
      to = std::move(entry);
    }
}

Choice& Choices::add(const plan::CallKey* key, Choice choice, std::int64_t& left) {
  if (key == nullptr) return unkept_ = std::move(choice);
  if (entries_.empty()) entries_.resize(kBucket);
  if (key->size() >= kLongKey) clear();
  const auto is_full = [&] {
    return std::ranges::all_of(bucket_of(*key), &Entry::taken) && entries_.size() < kMostEntries &&
           left >= static_cast<std::int64_t>(entries_.size());
  };
  while (is_full()) grow(left);
  Entry& entry = place(*key);
  entry = {true, *key, std::move(choice)};
  return entry.choice;
}

void Choices::clear() { std::ranges::fill(entries_, Entry()); }

}  // namespace scanloom::runtime
