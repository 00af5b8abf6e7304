#include "kernels/conv_activation.h"

#include <cmath>
#include <limits>
#include <vector>

namespace scanloom::kernels {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;
using Activation = ConvActivation<double>;
using Kind = Activation::Kind;

/// Reads the instructions that are no constants, one after another.
class ActivationFinder {
 public:
  ActivationFinder(const tensor::ScalarProgram& program, std::size_t first, std::int32_t x,
                   const std::function<std::optional<double>(std::int32_t)>& number_of)
      : x_(x), number_of_(number_of) {
    const auto inputs = static_cast<std::int32_t>(program.inputs.size());
    for (std::size_t i = first; i < program.instrs.size(); ++i)
      if (program.instrs[i].op != ScalarOp::constant)
        left_.push_back({program.instrs[i], inputs + static_cast<std::int32_t>(i)});
  }

  [[nodiscard]] bool has_type(DType dtype) const {
    for (const Step& step : left_)
      if (step.instr.dtype != dtype) return false;
    return true;
  }

  /// The activation that all instructions make, and the register of its result.
  std::optional<Activation> find(std::int32_t& result) {
    Activation found;
    std::int32_t value = x_;
    const auto slope = with_number(ScalarOp::mul, value);
    if (slope && reads_leak(value)) {
      found = {.kind = Kind::leak, .slope = *slope};
    } else {
      const auto offset = with_number(ScalarOp::add, value);
      found.slope = slope.value_or(1);
      found.offset = offset.value_or(-0.0);  // the sum with which is x, also where x is -0
      if (!reads_limits(value, found)) return std::nullopt;
      const auto before = by_number(value);
      const bool gates = reads_product(value);
      const auto after = gates && !before ? by_number(value) : std::nullopt;
      if (before || after) found.divisor = before ? *before : *after;
      if (gates)
        found.kind = before ? Kind::gate_of_divided_line : after ? Kind::divided_gate : Kind::gate;
      else
        found.kind = before ? Kind::divided_line : slope || offset ? Kind::line : Kind::limits;
    }
    result = value;
    return at_ == left_.size() ? std::optional(found) : std::nullopt;
  }

 private:
  struct Step {
    ScalarInstr instr;
    std::int32_t result = -1;
  };

  [[nodiscard]] const Step* next(ScalarOp op) const {
    return at_ < left_.size() && left_[at_].instr.op == op ? &left_[at_] : nullptr;
  }

  /// Reads an operation on `value` and a finite number, which it returns; `value` becomes its
  /// result.
  std::optional<double> with_number(ScalarOp op, std::int32_t& value) {
    const Step* const step = next(op);
    if (step == nullptr) return std::nullopt;
    const auto& args = step->instr.args;
    if ((args[0] == value) == (args[1] == value)) return std::nullopt;
    const auto number = number_of_(args[0] == value ? args[1] : args[0]);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    value = step->result;
    ++at_;
    return number;
  }

  /// Reads the quotient of `value` by a number, as with_number.
  std::optional<double> by_number(std::int32_t& value) {
    const Step* const step = next(ScalarOp::div);
    const bool divides = step != nullptr && step->instr.args[0] == value;
    return divides ? with_number(ScalarOp::div, value) : std::nullopt;
  }

  /// Reads the choice of `below`, where x is less than 0, or x.
  bool reads_leak(std::int32_t& below) {
    const Step* const less = next(ScalarOp::less);
    if (less == nullptr || less->instr.args[0] != x_ || number_of_(less->instr.args[1]) != 0.0)
      return false;
    if (at_ + 1 == left_.size() || left_[at_ + 1].instr.op != ScalarOp::select) return false;
    const Step& select = left_[at_ + 1];
    const auto& args = select.instr.args;
    if (args[0] != less->result || args[1] != below || args[2] != x_) return false;
    below = select.result;
    at_ += 2;
    return true;
  }

  bool reads_limits(std::int32_t& value, Activation& to) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto high = with_number(ScalarOp::min, value);
    const auto low = with_number(ScalarOp::max, value);
    const auto after = high || !low ? std::nullopt : with_number(ScalarOp::min, value);
    if (!high && !low) return false;
    to.low = low.value_or(-kInfinity);
    to.high = high ? *high : after.value_or(kInfinity);
    return to.low < to.high && to.high != 0 && !(to.low == 0 && std::signbit(to.low));
  }

  /// Reads the product of x and `value`.
  bool reads_product(std::int32_t& value) {
    const Step* const step = next(ScalarOp::mul);
    if (step == nullptr) return false;
    const auto& args = step->instr.args;
    if (!(args[0] == x_ && args[1] == value) && !(args[0] == value && args[1] == x_)) return false;
    value = step->result;
    ++at_;
    return true;
  }

  std::vector<Step> left_;
  std::size_t at_ = 0;
  std::int32_t x_ = 0;
  const std::function<std::optional<double>(std::int32_t)>& number_of_;
};

}  // namespace

std::optional<Activation> find_activation(
    const tensor::ScalarProgram& program, std::size_t first, std::int32_t x, DType dtype,
    const std::function<std::optional<double>(std::int32_t)>& number_of) {
  ActivationFinder finder(program, first, x, number_of);
  if (!finder.has_type(dtype)) return std::nullopt;
  std::int32_t result = -1;
  const auto found = finder.find(result);
  if (!found || program.results.size() != 1 || program.results[0] != result) return std::nullopt;
  return found;
}

}  // namespace scanloom::kernels
