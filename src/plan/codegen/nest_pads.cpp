// Turns pads into nests: one that copies the input, and one per side that writes the value or
// repeats an edge.
#include <algorithm>
#include <cstring>

#include "ops/indices.h"
#include "ops/ops.h"
#include "plan/codegen/nest_source.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

using loopnest::Access;
using loopnest::Nest;
using tensor::ScalarOp;

enum Input : std::size_t { kX, kPads, kValue, kAxes };

/// Maximum nests of a pad, enough for two padded axes. The kernel handles more.
constexpr std::size_t kMaxPadParts = 9;

/// Adjacent elements on an axis of the result: read from `first` on, or outside the input.
struct Run {
  std::int64_t to = 0, count = 0, first = 0, step = 0;
  bool is_outside = false;
};
using Runs = std::vector<Run>;

std::int64_t number_at(const CallView& call, const Spot& spot, std::int64_t i) {
  const Layout& layout = call.layout(spot);
  const std::int64_t at = layout.dims.rank() == 0 ? 0 : i * layout.strides[0];
  const std::byte* const from = call.constant(spot) + bytes_of(spot.dtype, at);
  if (spot.dtype == DType::i32) {
    std::int32_t narrow = 0;
    std::memcpy(&narrow, from, sizeof narrow);
    return narrow;
  }
  std::int64_t wide = 0;
  std::memcpy(&wide, from, sizeof wide);
  return wide;
}

/// Returns the number of elements before the first one, by axis; nullopt if only the run knows it.
std::optional<std::vector<std::int64_t>> begins_of(const CallView& call, int rank) {
  const Spot *const pads = &call.spot(kPads), *const axes = call.optional_input(kAxes);
  if (call.constant(*pads) == nullptr || (axes != nullptr && call.constant(*axes) == nullptr))
    return std::nullopt;
  std::vector<std::int64_t> begins(static_cast<std::size_t>(rank), 0);
  const std::int64_t count = call.layout(*pads).dims.elements() / 2;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto axis = tensor::normalise_axis(axes == nullptr ? i : number_at(call, *axes, i), rank);
    if (!axis) return std::nullopt;
    begins[static_cast<std::size_t>(*axis)] = number_at(call, *pads, i);
  }
  return begins;
}

Runs runs_of(std::int64_t size, std::int64_t result, std::int64_t begin, bool repeats_edge) {
  const std::int64_t first = std::clamp<std::int64_t>(begin, 0, result);
  const std::int64_t last = std::clamp<std::int64_t>(begin + size, first, result);
  const auto side = [&](std::int64_t to, std::int64_t count, std::int64_t from) {
    return Run{.to = to, .count = count, .first = from, .is_outside = !repeats_edge};
  };
  Runs runs;
  if (first > 0) runs.push_back(side(0, first, 0));
  if (last > first)
    runs.push_back({.to = first, .count = last - first, .first = first - begin, .step = 1});
  if (result > last) runs.push_back(side(last, result - last, size - 1));
  return runs;
}

class PadNests {
 public:
  PadNests(const CallView& call, std::vector<Runs> axes) : call_(call), axes_(std::move(axes)) {}

  std::vector<Nest> make() {
    add({});
    return std::move(nests_);
  }

 private:
  /// Adds all parts that begin with these runs, recursing over the axes. A run outside the input
  /// gives a single part.
  void add(const Runs& runs) {  // NOLINT(misc-no-recursion)
    if (runs.size() == axes_.size()) return add_part(runs, false);
    for (const Run& run : axes_[runs.size()]) {
      Runs longer = runs;
      longer.push_back(run);
      if (!run.is_outside) {
        add(longer);
        continue;
      }
      for (std::size_t axis = longer.size(); axis < axes_.size(); ++axis)
        longer.push_back({.count = call_.layout(call_.output()).dims[static_cast<int>(axis)]});
      add_part(longer, true);
    }
  }

  void add_part(const Runs& runs, bool is_outside) {
    const Layout &x = call_.layout(call_.spot(kX)), &y = call_.layout(call_.output());
    Access from = first_element(call_.spot(kX)), to = first_element(call_.output());
    std::vector<std::int64_t> sizes;
    for (int axis = 0; axis < y.dims.rank(); ++axis) {
      const Run& run = runs[static_cast<std::size_t>(axis)];
      from.offset += bytes_of(from.dtype, run.first * x.strides[axis]);
      to.offset += bytes_of(to.dtype, run.to * y.strides[axis]);
      if (run.count == 1) continue;
      sizes.push_back(run.count);
      from.strides.push_back(run.step * x.strides[axis]);
      to.strides.push_back(y.strides[axis]);
    }
    nests_.push_back(is_outside ? filled(std::move(sizes), std::move(to))
                                : copying(std::move(sizes), std::move(from), std::move(to)));
  }

  [[nodiscard]] Nest filled(std::vector<std::int64_t> sizes, Access to) const {
    const Spot* const value = call_.optional_input(kValue);
    std::uint64_t bits = 0;
    if (value != nullptr && call_.constant(*value) == nullptr) {
      Access from = first_element(*value);
      from.strides.resize(sizes.size(), 0);
      return copying(std::move(sizes), std::move(from), std::move(to));
    }
    // Copy bytes, so that booleans other than 0 and 1 keep their bits.
    if (to.dtype == DType::boolean) to.dtype = DType::u8;
    if (value != nullptr) std::memcpy(&bits, call_.constant(*value), dtype_bytes(value->dtype));
    Nest nest;
    nest.sizes = std::move(sizes);
    nest.program.results = {
        nest.program.append({.op = ScalarOp::constant, .dtype = to.dtype, .bits = bits})};
    nest.writes = {std::move(to)};
    return nest;
  }

  const CallView& call_;
  const std::vector<Runs> axes_;
  std::vector<Nest> nests_;
};

}  // namespace

std::vector<Nest> pad_nests(const CallView& call) {
  const Layout &x = call.layout(call.spot(kX)), &y = call.layout(call.output());
  const std::string& mode = call.node().attrs[0].text();
  const bool is_known = mode == "constant" || mode == "edge";
  if (!is_known || x.dims.elements() == 0 || y.dims.elements() > kMaxElementsOfNest ||
      dtype_bytes(call.output().dtype) > sizeof(std::uint64_t))
    return {};
  const auto begins = begins_of(call, x.dims.rank());
  if (!begins) return {};
  std::vector<Runs> axes;
  std::size_t parts = 1;
  for (int i = 0; i < x.dims.rank(); ++i) {
    axes.push_back(
        runs_of(x.dims[i], y.dims[i], (*begins)[static_cast<std::size_t>(i)], mode == "edge"));
    parts *= axes.back().size();
  }
  if (mode == "edge" && parts > kMaxPadParts) return {};
  return PadNests(call, std::move(axes)).make();
}

}  // namespace scanloom::plan
