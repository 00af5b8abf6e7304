#include "expr/number_states.h"

#include <algorithm>

#include "expr/types.h"

namespace scanloom::expr {
namespace {

/// Types that are promoted to each other settle within a few rounds.
constexpr int kMaxRounds = 6;

bool begins_with_number(const Initial& initial) {
  const Expr& value = initial.value;
  if (!value.defined() || value.error() != nullptr) return false;
  return initial.adapts || value.node()->weak;
}

/// The type of the number if nothing that it meets has a type.
DType type_alone(DType dtype, DType real) {
  if (dtype == DType::boolean) return dtype;
  if (is_complex(dtype)) return complex_of(real);
  return is_floating_point(dtype) ? real : DType::i64;
}

/// Whether the constant `number` has the same value as `to`, an integer or a boolean. True if that
/// is known only at run time.
bool is_kept(const Expr& number, const Expr& to) {
  if (!is_floating_point(number.dtype())) {
    const auto before = constant_integers(cast(number, DType::i64)),
               after = constant_integers(cast(to, DType::i64));
    if (!before || !after) return true;
    const bool is_signed = dtype_kind(to.dtype()) == DTypeKind::signed_int;
    return *before == *after && (is_signed || std::ranges::min(*before) >= 0);
  }
  const Expr before = cast(number, DType::f64), after = cast(to, DType::f64);
  if (before.node()->kind != Kind::constant || after.node()->kind != Kind::constant) return true;
  const tensor::Tensor &a = before.node()->value, &b = after.node()->value;
  return std::ranges::equal(a.as<double>(), b.as<double>());
}

/// "0.5"; a description if there are several numbers.
std::string text_of(const Expr& number) {
  const Expr wide = cast(number, DType::f64);
  if (wide.node()->kind != Kind::constant || wide.rank() != 0) return describe(number);
  return fmt::format("{}", wide.node()->value.as<double>()[0]);
}

}  // namespace

NumberStates::NumberStates(const ScanOptions& options)
    : options_(options), adaptations_(adaptations()) {
  for (const Initial& initial : options.initial) {
    types_.emplace_back();
    if (begins_with_number(initial))
      types_.back() = type_alone(initial.value.dtype(), options.real);
  }
}

bool NumberStates::any() const {
  return std::ranges::any_of(types_, [](const auto& type) { return type.has_value(); });
}

Expected<Initial> NumberStates::initial(std::size_t i) const {
  Initial begun = options_.initial[i];
  if (!types_[i]) return begun;
  const Expr& number = begun.value;
  if (is_complex(number.dtype()) && !is_complex(*types_[i]))
    return fail(Code::invalid_argument,
                "output {} begins with a complex number, but a step makes it {}, which has no "
                "imaginary part; cast the step's result to {}",
                i, dtype_name(*types_[i]), dtype_name(complex_of(*types_[i])));
  Expr typed = cast(number, *types_[i]);
  if (typed.error() != nullptr) return *typed.error();
  if (!is_floating_point(*types_[i]) && !is_complex(*types_[i]) && !is_kept(number, typed))
    return fail(
        Code::invalid_argument,
        "output {} begins with {}, which {} cannot hold, but a step makes it that type; cast "
        "the step's result to {}",
        i, text_of(number), dtype_name(*types_[i]),
        dtype_name(type_alone(number.dtype(), options_.real)));
  if (typed.name().empty()) typed.named(number.name());
  begun.value = std::move(typed);
  return begun;
}

void NumberStates::let_adapt(std::size_t i, ScanState& state) const {
  if (round_ > 0 || !types_[i]) return;
  for (const Expr& arg : state.args)
    if (arg.dtype() == *types_[i]) arg.node()->weak = true;
}

/// Returns the type that the step gives the number. For numbers alone it is their type:
/// floating-point or complex if one of them is, and for a truth value that has become a number a
/// type for counting.
DType NumberStates::type_made(std::size_t i, const Expr& output) const {
  const DType number = type_alone(options_.initial[i].value.dtype(), options_.real);
  if (output.node()->weak) {
    const bool is_number = is_floating_point(number) && !is_complex(output.dtype());
    return is_number ? number : type_alone(output.dtype(), options_.real);
  }
  if (round_ == 0 && number == DType::boolean && is_integer(output.dtype())) return DType::i64;
  return output.dtype();
}

bool NumberStates::settle(const Step& made) {
  bool changed = round_ == 0 && adaptations() != adaptations_;
  for (std::size_t i = 0; i < types_.size() && i < made.outputs.size(); ++i) {
    if (!types_[i]) continue;
    const DType next = type_made(i, made.outputs[i]);
    if (next == *types_[i]) continue;
    changed = true;
    // In the end numbers take the widest type given to them, so that two of them cannot alternate.
    types_[i] = round_ < 2 ? next : promote(*types_[i], next);
  }
  return !changed || ++round_ == kMaxRounds;
}

}  // namespace scanloom::expr
