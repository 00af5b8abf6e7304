// Sizes of results and a kernel that a call of sizes that only the run knows has been given, by
// what decided them. The same sizes come again: of a step in the next one, of a growing value in
// the next run; then they cost a look into a table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/dynamic.h"
#include "tensor/call.h"
#include "tensor/shape.h"

namespace scanloom::runtime {

/// Of all calls of a Run: some kilobytes each.
inline constexpr std::int64_t kMostChoices = 4096;

struct Choice {
  std::vector<tensor::Shape> results;
  std::int64_t uses = 0;
  bool has_decided = false;  ///< by what it runs: a kernel, or the last resort if none takes it
  tensor::KernelFn run = nullptr;
  std::shared_ptr<const void> prepared;
  std::int64_t scratch_bytes = 0;
};

/// Those of one call. The last few are always kept; more, up to some hundred, as long as all calls
/// of a Run together may. One whose inputs take a long description is kept alone.
class Choices {
 public:
  /// nullptr: none is kept. Valid until the next add() or clear().
  Choice* find(const plan::CallKey& key);
  /// To be found by that key, which nothing is kept by; null: not at all. `left`: how many more all
  /// calls together may keep.
  Choice& add(const plan::CallKey* key, Choice choice, std::int64_t& left);
  void clear();

 private:
  struct Entry {
    bool taken = false;
    plan::CallKey key;
    Choice choice;
  };
  /// Entries of the bucket that the key falls into.
  [[nodiscard]] std::span<Entry> bucket_of(const plan::CallKey& key);
  Entry& place(const plan::CallKey& key);
  void grow(std::int64_t& left);

  std::vector<Entry> entries_;  ///< bucket after bucket, a power of two of them
  std::size_t next_ = 0;        ///< to be given up, of a full bucket
  Choice unkept_;
};

}  // namespace scanloom::runtime
