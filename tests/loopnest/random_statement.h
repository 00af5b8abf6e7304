// Random statements that are no blocks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/loopnest/random_nest.h"

namespace scanloom::loopnest::test {

/// Returns a use of everything that a slot may point to.
Use all_of(std::int32_t slot);

class StatementWriter : protected NestWriter {
 protected:
  using NestWriter::NestWriter;

  void add_part(Nest nest) { parts_->push_back(part_of(std::move(nest), {})); }
  /// Lets later nests read a value.
  void know(const Access& place, const Sizes& sizes) {
    known_.push_back({place, sizes, product(sizes), place.slot == kArena});
  }
  /// Returns a value to which another slot will point, so that it may no longer change.
  Known known_to_share();

  void add_value();
  /// Returns a row of a result, one in each step of the body or of the inner loop around.
  Access new_row(DType dtype, const Sizes& sizes);
  void add_row();
  /// Adds a value that two nests put together along the first axis.
  void add_pieces();
  /// Adds a slot that points to another value.
  void add_alias();
  /// Adds indices that the step computes.
  void add_indices();
  /// Adds a boolean, and that it is read after the statements.
  Access add_flag(std::vector<Use>& read_later);
  void add_scatter();
  /// Adds a nest at an index along an axis.
  void add_slice();

  std::vector<Part>* parts_ = &made_.body.parts;  ///< of the body, or of the block that is open
  Part* loop_ = nullptr;                          ///< the innermost open one
  std::int64_t loop_steps_ = 0;                   ///< the most that it takes

 private:
  Known target_for(const std::vector<Use>& reads, std::int64_t elements);
};

}  // namespace scanloom::loopnest::test
