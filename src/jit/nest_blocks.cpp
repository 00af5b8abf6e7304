#include "jit/nest_blocks.h"

#include <algorithm>
#include <bit>

#include "jit/reduction_forms.h"

namespace scanloom::jit {

using loopnest::Access;
using loopnest::Nest;

namespace {

/// Vectors per block of lanes. A function is a chain of some twenty dependent instructions, so more
/// of them are interleaved.
constexpr unsigned kVectorsOfProgram = 2, kVectorsOfFunctions = 4;
/// Rows of fewer lanes are computed one by one.
constexpr std::int64_t kMinOfRow = 4;

/// Whether the program has functions that leave most registers unused.
bool has_chains(const Nest& nest) { return has_math(nest.program) && !has_pow(nest.program); }

bool is_plain(const Access& operand) { return operand.indices.empty(); }

/// Whether elements may be computed twice: nothing accumulates, and each has its own address.
bool may_repeat(const Nest& nest) {
  return nest.reductions.empty() && std::ranges::all_of(nest.writes, is_plain);
}

/// Returns the bytes of the widest element computed; at least 4, since narrow ones are rare.
std::int64_t widest_element(const Nest& nest) {
  std::int64_t bytes = 4;
  for (const Access& operand : nest.writes)
    bytes = std::max(bytes, static_cast<std::int64_t>(dtype_bytes(operand.dtype)));
  return bytes;
}

}  // namespace

unsigned lanes_of_block(const Nest& nest, const NestTarget& target) {
  const unsigned vectors = has_chains(nest) ? kVectorsOfFunctions : kVectorsOfProgram;
  return vectors * target.vector_bytes / static_cast<unsigned>(widest_element(nest));
}

unsigned rows_of_block(const Nest& nest, const NestTarget& target) {
  if (!has_chains(nest) || !may_repeat(nest) || !std::ranges::all_of(nest.reads, is_plain))
    return 1;
  const std::int64_t lanes = nest.sizes.back();
  if (lanes < kMinOfRow || !std::has_single_bit(static_cast<std::uint64_t>(lanes))) return 1;
  return std::max(
      lanes_of_block(nest, target) / static_cast<unsigned>(std::min<std::int64_t>(lanes, 1 << 16)),
      1U);
}

std::optional<LastVectors> last_vectors(const Nest& nest, const NestTarget& target,
                                        std::int64_t row) {
  if (row < 3 || !has_chains(nest) || !may_repeat(nest)) return std::nullopt;
  const auto power_below = [](std::int64_t value) {
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
  };
  const std::int64_t lanes = std::min(
      static_cast<std::int64_t>(target.vector_bytes) / widest_element(nest), power_below(row));
  if (row % lanes == 0) return std::nullopt;
  const std::int64_t vectors = row / lanes + 1;
  const std::int64_t count = std::min(power_below(vectors), std::int64_t{kVectorsOfFunctions});
  return LastVectors{(vectors - count) * lanes, lanes, static_cast<unsigned>(count)};
}

}  // namespace scanloom::jit
