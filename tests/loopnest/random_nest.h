// Random nests over the memory of a random body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/loopnest/random_body.h"
#include "tests/loopnest/random_program.h"

namespace scanloom::loopnest::test {

using Sizes = std::vector<std::int64_t>;

std::int64_t product(const Sizes& sizes);
Sizes row_major(const Sizes& sizes);
inline std::int64_t width(DType dtype) { return static_cast<std::int64_t>(dtype_bytes(dtype)); }

/// How many elements an index selects from, and the elements of a feed.
inline constexpr std::int64_t kIndexed = 4, kFeedElements = 96;
/// The slots of values that end with the step, and of feeds.
inline constexpr std::int32_t kArena = 0, kIntegers = 4, kBooleans = 5;

/// A value that nests may read: as it was written, and all its elements from the offset on.
struct Known {
  Access written;
  Sizes sizes;
  std::int64_t elements = 0;
  bool may_change = false;  ///< no other slot points there, so a later statement may write to it
};

class NestWriter : protected ProgramWriter {
 protected:
  explicit NestWriter(std::uint64_t seed);

  const Sizes& shape() { return shapes_[below(2)]; }
  std::int32_t add_memory(std::int64_t bytes);
  /// Adds memory with random contents.
  std::int32_t add_filled(DType dtype, std::int64_t elements, bool as_index = false);
  Access place_in_arena(DType dtype, const Sizes& sizes);

  /// One of the last four values more often than others, so that nests read what others make.
  const Known& any_known();
  /// Returns an access over the axes that stays among so many elements, moved by an index or not.
  Access access_within(const Known& known, const Sizes& sizes, bool is_indexed);
  DynamicIndex index_over(const Sizes& sizes, DType moved);
  Access read_over(const Sizes& sizes, bool may_be_indexed);

  Reduction reduction_over(const Sizes& sizes);
  /// Returns a nest without its writes and results.
  Nest nest_over(const Sizes& sizes);
  /// Completes the program of the nest by a result, written there.
  void write_to(Nest& nest, Access place);

  RandomBody made_;
  std::vector<Known> known_, indices_;
  Sizes shapes_[2];
  std::int64_t arena_bytes_ = 0;

 private:
  Sizes strides_within(const Sizes& sizes, std::int64_t elements, std::int64_t& first);
};

}  // namespace scanloom::loopnest::test
