#include "expr/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "expr/apply.h"
#include "ops/ops.h"

namespace scanloom::expr {
namespace {

/// Returns the first `count` rows of a sequence, with each `chunk` of them along an axis of its
/// own.
Expr in_chunks(const Expr& rows, const Expr& count, const Expr& chunks, const Expr& chunk) {
  const Expr whole = subtensor(rows, {Index::slice({}, count)});
  std::vector<Expr> sizes{chunks, chunk};
  for (int axis = 1; axis < rows.rank(); ++axis) sizes.push_back(size(rows, axis));
  return reshape(whole, std::move(sizes));
}

/// Joins the first two axes.
Expr joined(const Expr& rows) {
  // Not -1: an axis of no elements would make it ambiguous.
  std::vector<Expr> sizes{size(rows, 0) * size(rows, 1)};
  for (int axis = 2; axis < rows.rank(); ++axis) sizes.push_back(size(rows, axis));
  return reshape(rows, std::move(sizes));
}

/// One level of the nest.
class Level {
 public:
  Level(LoopSpec spec, const std::vector<Expr>& chunks)
      : spec_(std::move(spec)), chunks_(chunks), ports_(spec_.facts.ports) {}

  std::vector<Expr> make() {
    const Expr steps = maximum(spec_.operands[0], integer(0));
    const Expr chunk = maximum(chunks_[0], integer(1));
    const Expr count = floor_divide(steps, chunk), whole = count * chunk;
    const std::vector<Expr> over_chunks = make_outer(count, whole, chunk);
    if (first_failed(over_chunks) != nullptr) return over_chunks;
    std::vector<Expr> rest = make_rest(over_chunks, steps, whole);
    if (first_failed(rest) != nullptr) return rest;
    for (std::uint32_t i = 0; i < ports_.stacked.size(); ++i) {
      const std::uint32_t at = ports_.carried + i;
      Expr rows = concatenate({joined(over_chunks[at]), rest[at]});
      const int state = spec_.facts.state_of_row[i];
      if (state >= 0 && rows.error() == nullptr)
        rows.node()->last_row = std::make_shared<Expr>(rest[static_cast<std::size_t>(state)]);
      rest[at] = std::move(rows);
    }
    return rest;
  }

 private:
  [[nodiscard]] const Expr& state(std::size_t i) const {
    return spec_.operands[ports_.first_carried_input() + i];
  }
  [[nodiscard]] const Expr& sequence(std::size_t i) const {
    return spec_.operands[ports_.first_scanned_input() + i];
  }

  /// Makes the loop over whole chunks: a step takes one chunk of each sequence.
  std::vector<Expr> make_outer(const Expr& count, const Expr& whole, const Expr& chunk) const {
    LoopSpec outer;
    outer.location = spec_.location;
    outer.facts = spec_.facts;
    outer.facts.recompute = true;
    outer.operands = {count};
    LoopSpec inner = spec_;
    inner.operands = {chunk};
    for (std::uint32_t i = 0; i < ports_.carried; ++i) {
      outer.operands.push_back(state(i));
      outer.args.push_back(placeholder(type_of(state(i))));
      inner.operands.push_back(outer.args.back());
    }
    for (std::uint32_t i = 0; i < ports_.scanned.size(); ++i) {
      const Expr rows = in_chunks(sequence(i), whole, count, chunk);
      if (rows.error() != nullptr) return std::vector(ports_.output_count(), rows);
      StaticType of_chunk = type_of(rows);
      of_chunk.sizes.erase(of_chunk.sizes.begin());
      outer.operands.push_back(rows);
      outer.args.push_back(placeholder(std::move(of_chunk)));
      inner.operands.push_back(outer.args.back());
    }
    outer.yields = make_chunked_loop(std::move(inner), {chunks_.begin() + 1, chunks_.end()});
    return make_loop(std::move(outer));
  }

  /// Makes the loop over the steps that are left over.
  std::vector<Expr> make_rest(const std::vector<Expr>& over_chunks, const Expr& steps,
                              const Expr& whole) const {
    LoopSpec rest = spec_;
    rest.operands = {steps - whole};
    rest.operands.insert(rest.operands.end(), over_chunks.begin(),
                         over_chunks.begin() + static_cast<std::ptrdiff_t>(ports_.carried));
    for (std::uint32_t i = 0; i < ports_.scanned.size(); ++i)
      rest.operands.push_back(subtensor(sequence(i), {Index::slice(whole, steps)}));
    return make_chunked_loop(std::move(rest), {chunks_.begin() + 1, chunks_.end()});
  }

  const LoopSpec spec_;
  const std::vector<Expr>& chunks_;
  const ir::LoopPorts& ports_;
};

/// Measured with loops of one state.
constexpr std::int64_t kRowsOfALevel = 10;
/// Shorter chunks are unrolled by passes, and nothing is saved.
constexpr std::int64_t kMinWidth = 9;
constexpr int kMaxLevels = 8;

}  // namespace

std::vector<Expr> make_chunked_loop(LoopSpec spec, const std::vector<Expr>& chunks) {
  if (chunks.empty()) return make_loop(std::move(spec));
  return Level(std::move(spec), chunks).make();
}

// With chunks of c on each of k levels, c^k steps keep k c rows, and each level keeps what its
// loops carry: the forward loop, the repeated forward loop and the reverse loop.
Expected<std::vector<std::int64_t>> chunks_for(std::int64_t steps, std::int64_t rows) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int levels = 1; levels <= kMaxLevels; ++levels) {
    const auto width = static_cast<std::int64_t>(
        std::ceil(std::pow(static_cast<double>(steps), 1.0 / levels) - 1e-9));
    if (levels > 1 && width < kMinWidth) break;
    const std::int64_t kept = levels * (width + kRowsOfALevel);
    least = std::min(least, kept);
    if (kept > rows) continue;
    std::vector<std::int64_t> chunks;
    std::int64_t left = steps;
    for (int level = 1; level < levels; ++level) {
      left = (left + width - 1) / width;
      chunks.push_back(left);
    }
    return chunks;
  }
  return fail(Code::invalid_argument,
              "the budget holds {} states, but the gradient of {} steps keeps at least {}", rows,
              steps, least);
}

namespace {

Expected<std::vector<Expr>> chunks_within(std::int64_t budget, const Expr& steps,
                                          std::span<const Expr> states) {
  const auto count = constant_integers(steps);
  if (!count)
    return fail(Code::invalid_argument,
                "a budget needs a known number of steps: give a number, or use every or sqrt");
  std::int64_t bytes = 0;
  for (const Expr& state : states) {
    const StaticType& type = type_of(state);
    if (std::ranges::find(type.sizes, -1) != type.sizes.end())
      return fail(Code::invalid_argument,
                  "a budget needs the sizes of the states, but {} is {}: reshape the initial value "
                  "to sizes that are numbers, or use every or sqrt instead",
                  describe(state), to_string(type));
    bytes +=
        std::accumulate(type.sizes.begin(), type.sizes.end(),
                        static_cast<std::int64_t>(dtype_bytes(type.dtype)), std::multiplies<>());
  }
  auto counts = chunks_for((*count)[0], budget / std::max<std::int64_t>(bytes, 1));
  if (!counts)
    return std::move(counts).error().note(fmt::format(
        "the budget is {} bytes, but the states take {} bytes at every step", budget, bytes));
  std::vector<Expr> chunks;
  for (const std::int64_t chunk : *counts) chunks.push_back(integer(chunk));
  return chunks;
}

/// At most the steps of the loop: a larger chunk would have more rows than that.
Expr chunk_of(std::int64_t every, const Expr& steps) {
  if (const auto count = constant_integers(steps))
    return integer(std::min(every, std::max<std::int64_t>((*count)[0], 1)));
  // A constant allows loops over short chunks to be compiled for it.
  constexpr std::int64_t kShort = std::int64_t{1} << 20;
  return every <= kShort ? integer(every) : minimum(integer(every), maximum(steps, integer(1)));
}

}  // namespace

Expected<std::vector<Expr>> chunks_of(const Checkpoint& wanted, const Expr& steps,
                                      std::span<const Expr> states) {
  switch (wanted.kind) {
    case Checkpoint::Kind::all:
      return std::vector<Expr>{};
    case Checkpoint::Kind::every:
      if (wanted.value < 1)
        return fail(Code::invalid_argument,
                    "a checkpoint every {} steps: the number must be at least 1", wanted.value);
      return std::vector{chunk_of(wanted.value, steps)};
    case Checkpoint::Kind::root:
      return std::vector{cast(ceil(sqrt(cast(maximum(steps, 0), DType::f64))), DType::i64)};
    case Checkpoint::Kind::budget:
      break;
  }
  return chunks_within(wanted.value, steps, states);
}

}  // namespace scanloom::expr
