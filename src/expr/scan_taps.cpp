#include "expr/scan_taps.h"

#include <algorithm>
#include <set>
#include <utility>

#include "expr/apply.h"
#include "ops/ops.h"

namespace scanloom::expr {
namespace {

/// Up to this many steps back, each is a port of the loop, which keeps them in registers: measured.
constexpr std::int64_t kMaxPorts = 16;

/// Beyond this, the initial rows of an output must be given as a tensor.
constexpr std::int64_t kFarthest = std::int64_t{1} << 40;

/// Precondition: there is a tap.
std::int64_t earliest(const std::vector<std::int64_t>& taps) {
  return std::min<std::int64_t>(0, *std::ranges::min_element(taps));
}
std::int64_t latest(const std::vector<std::int64_t>& taps) {
  return std::max<std::int64_t>(0, *std::ranges::max_element(taps));
}

/// The argument of a step; errors name it if it is read elsewhere.
Expr of_step(StaticType type, std::string name, const std::string& location) {
  Expr made = placeholder(std::move(type), std::move(name));
  made.node()->location = location;
  return made;
}

StaticType row_type(const Expr& rows) {
  StaticType type = type_of(rows);
  type.sizes.erase(type.sizes.begin());
  return type;
}

/// "x" for the step's own row if that is the only tap; "x[t-1]" otherwise.
std::string slice_name(std::string name, const std::vector<std::int64_t>& taps, std::int64_t tap) {
  if (taps.size() == 1 && tap == 0) return name;
  return name + "[t" + (tap > 0 ? "+" : "") + (tap == 0 ? "" : std::to_string(tap)) + "]";
}

Expected<void> check_sequence(std::size_t i, const Sequence& sequence) {
  const auto& [input, taps] = sequence;
  const std::string name = input.name().empty() ? std::to_string(i) : "'" + input.name() + "'";
  if (!input.defined()) return fail(Code::invalid_argument, "sequence {} is missing", name);
  if (input.rank() == 0)
    return fail(Code::invalid_argument,
                "sequence {} is a single number; a sequence has at least one axis", name);
  if (taps.empty()) return fail(Code::invalid_argument, "sequence {} has no taps", name);
  for (const std::int64_t tap : taps)
    if (tap < -kFarthest || tap > kFarthest)
      return fail(Code::unsupported, "sequence {} has tap {}, but taps reach at most {} steps",
                  name, tap, kFarthest);
  return {};
}

/// Returns how far the taps look back.
Expected<std::int64_t> depth_of(std::size_t i, const std::vector<std::int64_t>& taps) {
  if (taps.empty()) return fail(Code::invalid_argument, "output {} has no taps", i);
  std::set<std::int64_t> distinct;
  for (const std::int64_t tap : taps) {
    if (tap < -kFarthest)
      return fail(Code::unsupported, "output {} has tap {}, but taps reach back at most {} steps",
                  i, tap, kFarthest);
    if (tap >= 0)
      return fail(Code::invalid_argument,
                  "output {} has tap {}; taps of outputs look back and must be negative", i, tap);
    if (!distinct.insert(tap).second)
      return fail(Code::invalid_argument, "output {} has tap {} twice", i, tap);
  }
  return -earliest(taps);
}

/// The initial rows; a run checks that there are enough.
Expected<Expr> enough_rows(std::size_t i, const Expr& rows, std::int64_t depth,
                           const std::string& location) {
  if (rows.rank() == 0)
    return fail(Code::invalid_argument,
                "the initial value of output {} is a single number; taps back to {} need an axis "
                "of {} rows",
                i, -depth, depth);
  const std::int64_t known = rows.sizes()[0];
  if (known >= 0 && known < depth)
    return fail(Code::invalid_argument,
                "the initial value of output {} has {} rows, but taps back to {} need {}", i, known,
                -depth, depth);
  if (known >= 0) return rows;
  const std::string whose = rows.name().empty() ? "" : ", " + describe(rows) + ",";
  const Expr count =
      told_as(apply(ops::check_equal_op, {minimum(size(rows, 0), integer(depth)), integer(depth)},
                    {{"text", "the initial value of output " + std::to_string(i) + whose +
                                  " has {} rows, but its taps need {}"}}),
              location);
  return subtensor(rows, {Index::slice({}, count)});
}

Expected<void> split_rows(const Expr& rows, std::int64_t depth, ScanState& state) {
  if (state.ring == 0) {
    for (std::int64_t row = 0; row < depth; ++row) state.initial.push_back(rows[Expr(row)]);
  } else {
    Expr ring = subtensor(rows, {Index::slice({}, Expr(depth))});
    if (ring.error() == nullptr) ring.node()->outputs[0].sizes[0] = depth;
    state.initial = {std::move(ring), integer(0), rows[Expr(depth - 1)]};
  }
  if (const Expr* bad = first_failed(state.initial)) return *bad->error();
  return {};
}

}  // namespace

Expected<std::vector<ScanWindow>> windows_of(std::size_t i, const Sequence& sequence,
                                             const std::string& location) {
  SCANLOOM_CHECK_OK(check_sequence(i, sequence));
  const auto& [input, taps] = sequence;
  const std::string own =
      input.name().empty() ? "sequence " + std::to_string(i) : std::string(input.name());
  const std::int64_t low = earliest(taps), high = latest(taps);
  std::vector<ScanWindow> windows;
  for (const std::int64_t tap : taps) {
    Expr window = input;
    if (low != high) {
      const Expr stop = size(input, 0) - (high - tap);
      window = subtensor(input, {Index::slice(Expr(tap - low), maximum(stop, 0))});
    }
    if (window.error() != nullptr) return *window.error();
    Expr slice = of_step(row_type(window), slice_name(own, taps, tap), location);
    windows.push_back({std::move(window), std::move(slice)});
  }
  return windows;
}

Expr ScanState::row_before(std::int64_t back) const {
  if (ring == 0) return args[args.size() - static_cast<std::size_t>(back)];
  if (back == 1) return last();
  const Expr &rows = args[0], &oldest = args[1];
  const Expr ahead = oldest + (ring - back);
  // The row of as many steps ago as the ring holds is where this step's row goes.
  const Expr at = back == ring ? oldest : where(oldest < back, ahead, oldest - back);
  return apply(ops::gather_op, {rows, at}, {{"axis", 0}});
}

Expr ScanState::next(std::size_t k, const Expr& output) const {
  if (k + 1 == args.size()) return output;
  if (ring == 0) return args[k + 1];
  if (k == 0)
    return apply(ops::scatter_nd_op, {args[0], shape_of({args[1]}), output},
                 {{"reduction", "none"}});
  const Expr after = args[1] + 1;
  return where(after < ring, after, integer(0));
}

Expected<ScanState> scan_state(std::size_t i, const Initial& initial, const std::string& location) {
  if (!initial.value.defined()) return ScanState();
  ScanState state{initial.taps, {}, {}};
  SCANLOOM_TRY(const std::int64_t depth, depth_of(i, initial.taps));
  if (!initial.rows) {
    state.initial.push_back(initial.value);
  } else {
    SCANLOOM_TRY(const Expr rows, enough_rows(i, initial.value, depth, location));
    if (depth > kMaxPorts) state.ring = depth;
    SCANLOOM_CHECK_OK(split_rows(rows, depth, state));
  }
  for (const Expr& first : state.initial)
    state.args.push_back(of_step(type_of(first), initial.value.name(), location));
  return state;
}

}  // namespace scanloom::expr
