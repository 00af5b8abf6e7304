// The parts of a loop's body while it is made ready for the compiler: statements, each with the
// memory that it touches.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir/ids.h"
#include "loopnest/loopnest.h"

namespace scanloom::plan {

/// Memory that a statement reads or writes: bytes [first, last) from where the slot points.
struct Use {
  std::int32_t slot = 0;
  std::int64_t first = 0, last = 0;

  [[nodiscard]] bool overlaps(const Use& other) const {
    return slot == other.slot && first < other.last && other.first < last;
  }
};

/// The bytes between the first and the last element over axes of those sizes, none of them 0.
Use use_of(const loopnest::Access& operand, const std::vector<std::int64_t>& sizes);
Use use_of(const loopnest::DynamicIndex& index, const std::vector<std::int64_t>& sizes);

/// Calls f(index) for each index of an operand of the nest.
template <class Nest, class F>
void for_indices(Nest& nest, F&& f) {
  for (auto* operands : {&nest.reads, &nest.writes})
    for (auto& operand : *operands)
      for (auto& index : operand.indices) f(index);
}

/// Whether the slot is that of a buffer, of which nobody reads after a step what the step has made,
/// unless it is told apart.
using IsBuffer = std::function<bool(std::int32_t slot)>;
inline bool no_buffer(std::int32_t /*slot*/) { return false; }

/// A value that several nests put together, row by row in memory of its own.
struct Whole {
  std::int32_t slot = 0;
  DType dtype = DType::f32;
  std::int64_t offset = 0;
  std::vector<std::int64_t> dims, strides;
  friend bool operator==(const Whole&, const Whole&) = default;
};

/// A statement of a body, and what binding knows of it.
struct Part {
  loopnest::Statement statement;
  std::vector<Use> reads, writes;
  std::vector<ir::NodeId> nodes;    ///< that it computes, wholly or in part
  std::optional<Whole> whole = {};  ///< of which the nest makes a piece

  [[nodiscard]] bool is_nest() const { return statement.kind == loopnest::Statement::Kind::nest; }
  /// Whether data decide that the run ends here.
  [[nodiscard]] bool may_fail() const { return !is_nest() || statement.nest.may_fail(); }
};

/// A nest with the memory that it touches.
Part part_of(loopnest::Nest nest, std::vector<ir::NodeId> nodes);

/// Those of both, each once.
std::vector<ir::NodeId> nodes_of(const Part& a, const Part& b);

[[nodiscard]] bool overlap(const std::vector<Use>& a, const std::vector<Use>& b);

/// Neither reads or writes what the other writes.
[[nodiscard]] bool independent(const Part& a, const Part& b);

/// The axes that a reduction's reads walk: the nest's, then the reduction's own.
std::vector<std::int64_t> axes_of(const loopnest::Nest& nest, const loopnest::Reduction& reduction);

/// Appends `from` to `to`, given the register in `to` of each of its inputs; returns those of its
/// results.
std::vector<std::int32_t> append_program(tensor::ScalarProgram& to,
                                         const tensor::ScalarProgram& from,
                                         std::vector<std::int32_t> registers);

}  // namespace scanloom::plan
