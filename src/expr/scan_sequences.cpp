#include "expr/scan_sequences.h"

#include <algorithm>
#include <limits>

#include "expr/apply.h"
#include "expr/scan_taps.h"
#include "ir/loop_ports.h"

namespace scanloom::expr {
namespace {

/// The maximum number of steps; beyond it the number would wrap around.
constexpr std::int64_t kMaxSteps = ir::kEndlessTripCount - 1;

Expected<void> add_windows(const ScanOptions& options, const std::string& location,
                           ScanSequences& sequences) {
  for (std::size_t i = 0; i < options.sequences.size(); ++i) {
    SCANLOOM_TRY(std::vector<ScanWindow> windows, windows_of(i, options.sequences[i], location));
    for (ScanWindow& window : windows) {
      sequences.windows.push_back(std::move(window.rows));
      sequences.slices.push_back(std::move(window.slice));
    }
  }
  return {};
}

/// Returns the number of steps that the shortest window allows.
Expr length_of_shortest(const std::vector<Expr>& windows) {
  Expr steps;
  for (const Expr& window : windows)
    steps = steps.defined() ? minimum(steps, size(window, 0)) : size(window, 0);
  return steps;
}

/// Returns the number that the user gives, as a scalar i64; it may be negative.
Expected<Expr> steps_given(const Expr& given) {
  if (!is_integer(given.dtype()))
    return fail(Code::invalid_argument,
                "the number of steps is {}; it must be one integer: cast it to i64",
                to_string(type_of(given)));
  if (!is_one_element(given))
    return fail(Code::invalid_argument,
                "the number of steps is {}; it must be one integer, not several: a size is "
                "x.shape[0], not x.shape",
                to_string(type_of(given)));
  const auto known = constant_integers(given);
  if (known && given.dtype() == DType::u64 && (*known)[0] < 0)
    return fail(Code::invalid_argument, "the number of steps is {}, more than 2^63 - 1",
                static_cast<std::uint64_t>((*known)[0]));
  Expr count = given.rank() > 0 ? reshape(given, integers({})) : given;
  // More steps than can be counted would wrap around in the cast.
  if (count.dtype() == DType::u64 && !known)
    count = minimum(count, number(static_cast<double>(kMaxSteps), DType::u64));
  return cast(count, DType::i64);
}

/// Turns a negative number of steps into that many steps in the other direction.
void turn_if_negative(ScanSequences& sequences) {
  const auto constant = constant_integers(sequences.steps);
  if (constant && (*constant)[0] >= 0) return;
  if (constant) {
    sequences.backwards = !sequences.backwards;
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    sequences.steps = integer(-std::max((*constant)[0], -kMax));
    return;
  }
  const Expr negative = sequences.steps < 0;
  for (Expr& window : sequences.windows)
    window = if_else(negative, subtensor(window, {Index::slice({}, {}, -1)}), window);
  sequences.steps = abs(sequences.steps);
}

}  // namespace

bool is_one_element(const Expr& x) {
  return std::ranges::all_of(x.sizes(), [](std::int64_t size) { return size == 1; });
}

Expected<ScanSequences> scan_sequences(const ScanOptions& options, const std::string& location) {
  ScanSequences sequences{.windows = {}, .slices = {}, .steps = {}, .backwards = options.backwards};
  SCANLOOM_CHECK_OK(add_windows(options, location, sequences));
  if (!options.steps.defined()) {
    sequences.steps = length_of_shortest(sequences.windows);
    return sequences;
  }
  SCANLOOM_TRY(sequences.steps, steps_given(options.steps));
  turn_if_negative(sequences);
  return sequences;
}

}  // namespace scanloom::expr
