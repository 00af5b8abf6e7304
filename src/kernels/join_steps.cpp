#include "kernels/join_steps.h"

#include <algorithm>
#include <optional>

#include "kernels/joined_fns.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {

using Kind = StepValue::Kind;

class JoinFinder {
 public:
  JoinFinder(Isa isa, std::span<const JoinableStep> steps, std::span<const StepValue> results)
      : isa_(isa), steps_(steps.begin(), steps.end()), taken_(steps.size()) {
    for (const JoinableStep& step : steps)
      for (const StepValue& arg : step.args) count(arg);
    for (const StepValue& result : results) count(result);
    for (std::size_t s = 0; s < steps.size(); ++s)
      if (const StepValue& out = steps[s].out; out.kind == Kind::column && at(out) < uses_.size())
        made_by_[at(out)] = s;
  }

  std::vector<StepJoin> find() {
    std::vector<StepJoin> joins;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const std::optional<StepJoin> join = join_of(s);
      if (!join) continue;
      taken_[join->first] = true;
      steps_[s].fn = join->fn;
      steps_[s].args = join->args;
      joins.push_back(*join);
    }
    return joins;
  }

 private:
  void count(const StepValue& value) {
    if (value.kind != Kind::column) return;
    const std::size_t index = at(value);
    if (index >= uses_.size()) {
      uses_.resize(index + 1);
      made_by_.resize(index + 1, steps_.size());
    }
    ++uses_[index];
  }
  static std::size_t at(const StepValue& value) { return static_cast<std::size_t>(value.index); }

  /// The step that computes an argument of step `second`, if nothing else needs it.
  [[nodiscard]] std::optional<std::size_t> only_maker(std::size_t second, std::size_t arg) const {
    const StepValue& value = steps_[second].args[arg];
    if (value.kind != Kind::column || uses_[at(value)] != 1) return std::nullopt;
    const std::size_t first = made_by_[at(value)];
    if (first >= second || taken_[first] || steps_[first].fn == nullptr ||
        steps_[first].args[2].kind != Kind::none || steps_[first].phase != steps_[second].phase)
      return std::nullopt;
    return first;
  }

  /// Whether a function of two columns may get them in either order. At most the payload of a NaN
  /// changes.
  [[nodiscard]] bool commutes(ElementFn fn) const {
    using tensor::ScalarOp;
    const SimdTables& simd = simd_tables(isa_);
    const auto is_one_of = [fn](VectorFns (*fns)(ScalarOp)) {
      return fn == fns(ScalarOp::add).columns || fn == fns(ScalarOp::mul).columns;
    };
    return is_one_of(simd.f32_elements) || is_one_of(simd.f64_elements);
  }

  /// The function of bytes that are scaled, and then added to a column or one number.
  [[nodiscard]] ElementFn scaled_sum(ElementFn first, ElementFn second) const {
    const ByteTables& bytes = byte_tables(isa_);
    const VectorFns add = simd_tables(isa_).f32_elements(tensor::ScalarOp::add);
    if (second != add.columns && second != add.second_single) return nullptr;
    for (const DType from : {DType::u8, DType::i8})
      if (first == bytes.scale_column(from))
        return bytes.scale_and_add(from, second == add.second_single);
    return nullptr;
  }

  [[nodiscard]] std::optional<StepJoin> join_of(std::size_t second) const {
    const JoinableStep& then = steps_[second];
    if (then.fn == nullptr) return std::nullopt;
    if (then.fn == simd_tables(isa_).choice(static_cast<int>(dtype_bytes(then.out.dtype)))) {
      const std::optional<std::size_t> first = only_maker(second, 0);
      return first ? choice_of(*first, second) : std::nullopt;
    }
    if (then.args[2].kind != Kind::none) return std::nullopt;
    if (then.fn == joined_fns(isa_).kept(static_cast<int>(dtype_bytes(then.out.dtype)))) {
      const std::optional<std::size_t> first = only_maker(second, 0);
      return first ? kept_where(*first, second) : std::nullopt;
    }
    for (const std::size_t arg : {0, 1}) {
      if (arg == 1 && !commutes(then.fn)) break;
      const std::optional<std::size_t> first = only_maker(second, arg);
      if (!first) continue;
      const JoinableStep& before = steps_[*first];
      ElementFn fn = joined_fns(isa_).joined(before.fn, then.fn);
      if (fn == nullptr) fn = scaled_sum(before.fn, then.fn);
      const StepValue& other = then.args[1 - arg];
      if (fn != nullptr && before.args[1].kind == Kind::none)
        return StepJoin{*first, second, fn, {before.args[0], other}};
      if (fn != nullptr)
        return StepJoin{*first, second, fn, {before.args[0], before.args[1], other}};
    }
    return join_right(second);
  }

  [[nodiscard]] std::optional<StepJoin> join_right(std::size_t second) const {
    const std::optional<std::size_t> first = only_maker(second, 1);
    if (!first) return std::nullopt;
    const JoinableStep &before = steps_[*first], &then = steps_[second];
    const ElementFn fn = joined_fns(isa_).joined_right(before.fn, then.fn);
    if (fn == nullptr) return std::nullopt;
    return StepJoin{*first, second, fn, {before.args[0], before.args[1], then.args[0]}};
  }

  [[nodiscard]] std::optional<StepJoin> kept_where(std::size_t first, std::size_t second) const {
    const JoinableStep& comparison = steps_[first];
    const ElementFn fn = joined_fns(isa_).kept_where(comparison.fn);
    if (fn == nullptr) return std::nullopt;
    const StepValue& kept = steps_[second].args[1];
    return StepJoin{first, second, fn, {comparison.args[0], comparison.args[1], kept}};
  }

  [[nodiscard]] std::optional<StepJoin> choice_of(std::size_t first, std::size_t second) const {
    const JoinableStep &comparison = steps_[first], &choice = steps_[second];
    for (const bool is_left : {true, false})
      for (const bool is_yes : {true, false}) {
        const StepValue& own = choice.args[is_yes ? 1 : 2];
        const StepValue& other = choice.args[is_yes ? 2 : 1];
        if (own != comparison.args[is_left ? 0 : 1]) continue;
        const ElementFn fn = joined_fns(isa_).chosen(comparison.fn, is_left, is_yes);
        if (fn != nullptr)
          return StepJoin{first, second, fn, {comparison.args[0], comparison.args[1], other}};
      }
    return std::nullopt;
  }

  Isa isa_;
  std::vector<JoinableStep> steps_;   // with the joins so far
  std::vector<int> uses_;             // by column
  std::vector<std::size_t> made_by_;  // by column
  std::vector<bool> taken_;
};

}  // namespace

std::vector<StepJoin> find_joins(Isa isa, std::span<const JoinableStep> steps,
                                 std::span<const StepValue> results) {
  return JoinFinder(isa, steps, results).find();
}

}  // namespace scanloom::kernels
