// Parts: a body's statements while passes run, each with the memory that it touches.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/id.h"
#include "loopnest/access.h"

namespace scanloom::loopnest {

/// Whether a slot is a buffer: what a step writes there is not read after that step, except by uses
/// that are listed separately.
using IsBuffer = std::function<bool(std::int32_t slot)>;
inline bool no_buffer(std::int32_t /*slot*/) { return false; }

/// A value that several nests assemble, row by row, in memory of its own.
struct Whole {
  std::int32_t slot = 0;
  DType dtype = DType::f32;
  std::int64_t offset = 0;
  std::vector<std::int64_t> dims, strides;
  friend bool operator==(const Whole&, const Whole&) = default;
};

/// Identifies what a statement was made from, numbered by the code that described the body. Passes
/// keep the numbers.
using OriginId = Id<struct OriginTag>;

/// A statement of a body, with what is known of it while passes run.
struct Part {
  Statement statement;
  std::vector<Use> reads, writes;
  std::vector<OriginId> origins;    ///< of all or part of what it computes
  std::optional<Whole> whole = {};  ///< the value of which the nest writes a piece

  [[nodiscard]] bool is_nest() const { return statement.kind == Statement::Kind::nest; }
  /// Whether the run may fail here, depending on data.
  [[nodiscard]] bool may_fail() const { return !is_nest() || statement.nest.may_fail(); }
};

/// Returns a part of the nest, with the memory that it touches.
Part part_of(Nest nest, std::vector<OriginId> origins);

/// Returns the origins of both, without duplicates.
std::vector<OriginId> origins_of(const Part& a, const Part& b);

/// Whether neither reads or writes what the other writes.
[[nodiscard]] bool independent(const Part& a, const Part& b);

}  // namespace scanloom::loopnest
