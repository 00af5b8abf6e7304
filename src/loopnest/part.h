// The parts of a loop's body while it is made ready for the compiler: statements, each with the
// memory that it touches.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/id.h"
#include "loopnest/access.h"

namespace scanloom::loopnest {

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

/// What a statement was made of, as whoever described the body numbers it. Passes keep the numbers.
using OriginId = Id<struct OriginTag>;

/// A statement of a body, and what is known of it while passes run.
struct Part {
  Statement statement;
  std::vector<Use> reads, writes;
  std::vector<OriginId> origins;    ///< of what it computes, wholly or in part
  std::optional<Whole> whole = {};  ///< of which the nest makes a piece

  [[nodiscard]] bool is_nest() const { return statement.kind == Statement::Kind::nest; }
  /// Whether data decide that the run ends here.
  [[nodiscard]] bool may_fail() const { return !is_nest() || statement.nest.may_fail(); }
};

/// A nest with the memory that it touches.
Part part_of(Nest nest, std::vector<OriginId> origins);

/// Those of both, each once.
std::vector<OriginId> origins_of(const Part& a, const Part& b);

/// Neither reads or writes what the other writes.
[[nodiscard]] bool independent(const Part& a, const Part& b);

}  // namespace scanloom::loopnest
