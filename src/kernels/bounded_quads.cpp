#include "kernels/bounded_quads.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"

namespace scanloom::kernels {
namespace {
namespace bounded_quads {

constexpr int kBound = 128;
// An excess takes about as long as 20 groups of bytes do, of which multiplying them in 16 bits
// saves a third.
constexpr std::int64_t kGroupsPerExcess = 32;

constexpr std::int64_t kGroup = 4;  // bytes that are bounded together: two of each quad
constexpr std::int64_t kRowBytes = kQuadColumns * kQuad;

/// The offset of an element of a group from the first one.
constexpr std::int64_t offset_of(std::int64_t i) { return i / 2 * kRowBytes + i % 2; }
/// Its distance along k.
constexpr std::int64_t distance_of(std::int64_t i) { return i / 2 * kQuad + i % 2; }

/// The sum of the elements of one sign.
int sum_of(const std::int8_t* group, int sign) {
  int sum = 0;
  for (std::int64_t i = 0; i < kGroup; ++i) sum += std::max(sign * group[offset_of(i)], 0);
  return sum;
}

bool is_bounded(const std::int8_t* group) {
  return sum_of(group, 1) <= kBound && sum_of(group, -1) <= kBound;
}

/// Reduces the greatest elements of one sign.
void reduce(int sign, const QuadExcess& first, std::int8_t* group, std::vector<QuadExcess>& to) {
  for (int rest = sum_of(group, sign) - kBound; rest > 0;) {
    std::int64_t greatest = 0;
    for (std::int64_t i = 1; i < kGroup; ++i)
      if (sign * group[offset_of(i)] > sign * group[offset_of(greatest)]) greatest = i;
    std::int8_t& element = group[offset_of(greatest)];
    const int part = std::min(rest, sign * element);
    element = static_cast<std::int8_t>(element - sign * part);
    to.push_back(
        {first.row + distance_of(greatest), first.column, static_cast<std::int8_t>(sign * part)});
    rest -= part;
  }
}

/// Calls visit(its first element, excess without a value) for each group of the panels.
template <class Visit>
void for_each_group(std::int64_t panel, std::int64_t quads, std::int8_t* elements,
                    const Visit& visit) {
  std::int8_t* row = elements + panel * quads * kRowBytes;
  for (std::int64_t quad = 0; quad < quads; quad += kBoundedQuads, row += kBoundedQuads * kRowBytes)
    for (std::int64_t column = 0; column < kQuadColumns; ++column)
      for (std::int64_t half = 0; half < kQuad; half += 2)
        visit(row + column * kQuad + half,
              QuadExcess{quad * kQuad + half, panel * kQuadColumns + column});
}

/// Adds the products to kRows rows of sums, which wrap.
template <int kRows>
void add_to_rows(std::span<const QuadExcess> excesses, const QuadStrip& strip,
                 std::int64_t column) {
  const auto* const a = static_cast<const std::uint8_t*>(strip.a);
  for (const QuadExcess& each : excesses) {
    std::int32_t* const sums = strip.c + (each.column - column);
    for (int r = 0; r < kRows; ++r) {
      const std::int32_t product = a[r * strip.a_row + each.row] * each.value;
      sums[r * strip.c_row] = static_cast<std::int32_t>(
          static_cast<std::uint32_t>(sums[r * strip.c_row]) + static_cast<std::uint32_t>(product));
    }
  }
}

// By the number of rows - 1.
constexpr auto kAddToRows = []<int... kRows>(std::integer_sequence<int, kRows...>) {
  return std::array{add_to_rows<kRows + 1>...};
}(std::make_integer_sequence<int, kMaxQuadRows>());

}  // namespace bounded_quads
}  // namespace

std::span<const QuadExcess> QuadExcesses::of_panels(std::int64_t first, std::int64_t count) const {
  if (count == 0) return {};
  const std::size_t begin = first == 0 ? 0 : ends[static_cast<std::size_t>(first) - 1];
  const std::size_t end = ends[static_cast<std::size_t>(first + count) - 1];
  return std::span(all).subspan(begin, end - begin);
}

std::optional<QuadExcesses> bound_quads(std::int64_t panels, std::int64_t quads,
                                        std::int8_t* elements) {
  using namespace bounded_quads;
  SCANLOOM_ASSERT(quads % kBoundedQuads == 0);
  const std::int64_t most = panels * quads * kRowBytes / kGroup / kGroupsPerExcess;
  std::int64_t found = 0;
  for (std::int64_t panel = 0; panel < panels && found <= most; ++panel)
    for_each_group(panel, quads, elements, [&](const std::int8_t* group, const QuadExcess&) {
      found += is_bounded(group) ? 0 : 1;
    });
  if (found > most) return std::nullopt;
  QuadExcesses excesses;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    for_each_group(panel, quads, elements, [&](std::int8_t* group, const QuadExcess& first) {
      for (const int sign : {1, -1}) reduce(sign, first, group, excesses.all);
    });
    excesses.ends.push_back(excesses.all.size());
  }
  return excesses;
}

void add_excesses(const QuadExcesses& excesses, const QuadStrip& strip, std::int64_t panel,
                  std::int64_t rows) {
  bounded_quads::kAddToRows[static_cast<std::size_t>(rows - 1)](
      excesses.of_panels(panel, strip.panels), strip, panel * kQuadColumns);
}

}  // namespace scanloom::kernels
