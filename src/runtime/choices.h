// Sizes of results and a kernel that a call of sizes that only the run knows has been given, by
// what decided them. The same sizes come again: of a step in the next one, of a growing value in
// the next run; then they cost a look into a table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/bind/dynamic.h"
#include "tensor/call.h"
#include "tensor/shape.h"

namespace scanloom::runtime {

/// How many choices each of so many calls of a Run may keep. One takes a kilobyte or two, and all
/// of them together no more than some megabytes.
std::size_t most_choices(std::size_t calls);

struct Choice {
  std::vector<tensor::Shape> results;
  std::int64_t uses = 0;
  bool has_decided = false;  ///< by what it runs: a kernel, or the last resort if none takes it
  tensor::KernelFn run = nullptr;
  std::shared_ptr<const void> prepared;
  std::int64_t scratch_bytes = 0;
};

/// Those of one call. One whose inputs take a long description is kept alone.
class Choices {
 public:
  /// nullptr: none is kept. Valid until the next add() or clear().
  Choice* find(const plan::CallKey& key);
  /// To be found by that key, which nothing is kept by; null: not at all. `most`: as many are kept,
  /// a power of two.
  Choice& add(const plan::CallKey* key, Choice choice, std::size_t most);
  void clear();

 private:
  struct Entry {
    bool taken = false;
    std::uint64_t hash = 0;  ///< of the key, which lies elsewhere in memory
    plan::CallKey key;
    Choice choice;
  };
  /// Entries of the bucket that a key of that hash falls into.
  [[nodiscard]] std::span<Entry> bucket_of(std::uint64_t hash);
  Entry& place(std::uint64_t hash);
  void grow();

  std::vector<Entry> entries_;  ///< bucket after bucket, a power of two of them
  std::size_t next_ = 0;        ///< to be given up, of a full bucket
  Choice unkept_;
};

}  // namespace scanloom::runtime
