#include "passes/loops/linear_form.h"

#include <algorithm>
#include <set>

#include "ir/constants.h"
#include "opmath/linear_scan.h"
#include "ops/ops.h"
#include "passes/loops/varying_form.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {

using ir::Node;
using ir::NodeId;
using ir::ValueId;
using tensor::Tensor;

namespace {

/// Products by constants that are looked through to find the sequence that they scale.
constexpr int kMaxFactors = 8;

std::optional<double> known_number(const ir::Module& module, ValueId value) {
  const Tensor* const constant = constant_of(module, value);
  if (constant == nullptr || constant->elements() != 1) return std::nullopt;
  if (constant->dtype() == DType::f32) return constant->as<float>()[0];
  if (constant->dtype() == DType::f64) return constant->as<double>()[0];
  return std::nullopt;
}

}  // namespace

Expected<std::vector<ValueId>> LinearForms::operands() {
  for (std::size_t i = 0; i < group_.states.size(); ++i) {
    Form form{.states = std::vector<Coefficient>(group_.states.size()), .terms = {}};
    form.states[i].number = 1;
    forms_[body_.argument_of(group_.states[i])] = std::move(form);
  }
  for (const NodeId id : group_.path) {
    const Node node = module().node(id);  // by value: adding nodes may move it
    SCANLOOM_TRY(forms_[node.outputs[0]], form_of(node));
  }
  std::vector<std::vector<Coefficient>> matrix, gain;
  std::set<ValueId> used;
  for (const std::size_t state : group_.states) {
    const Form& form = forms_.at(body_.next_of(state));
    matrix.push_back(form.states);
    for (const auto& [value, by] : form.terms) used.insert(value);
  }
  std::vector<ValueId> sequences;
  if (used.size() <= group_.states.size()) {
    for (const ValueId value : used) {
      SCANLOOM_TRY(const ValueId steps, steps_of(value));
      sequences.push_back(steps);
    }
    for (const std::size_t state : group_.states) {
      const Form& form = forms_.at(body_.next_of(state));
      std::vector<Coefficient>& row = gain.emplace_back();
      for (const ValueId value : used) {
        const auto found = form.terms.find(value);
        row.push_back(found == form.terms.end() ? Coefficient{} : found->second);
      }
    }
  } else {
    for (std::size_t i = 0; i < group_.states.size(); ++i) {
      SCANLOOM_TRY(const ValueId steps, term_of(forms_.at(body_.next_of(group_.states[i]))));
      sequences.push_back(steps);
      gain.emplace_back(group_.states.size()).at(i).number = 1;
    }
  }
  if (sequences.empty()) {  // nothing is added: any sequence of the right length will do
    SCANLOOM_TRY(const ValueId steps, steps_of({}));
    sequences.push_back(steps);
    for (std::size_t i = 0; i < group_.states.size(); ++i) gain.emplace_back(1);
  }
  SCANLOOM_TRY(const ValueId a, matrix_of(matrix));
  SCANLOOM_TRY(const ValueId g, matrix_of(gain));
  std::vector<ValueId> result{sequences[0], a, g, {}};
  if (sequences.size() > 1) result.push_back(sequences[1]);
  return result;
}

Expected<LinearForms::Form> LinearForms::form_of(const Node& node) {
  if (only_reshapes(*node.op)) return operand(node.inputs[0]);
  if (node.op == &ops::neg_op) {
    SCANLOOM_TRY(Form form, operand(node.inputs[0]));
    return scaled(std::move(form), {.number = -1});
  }
  if (node.op == &ops::mul_op || node.op == &ops::div_op) {
    const std::size_t state = body_.depends_on(node.inputs[0], group_) ? 0 : 1;
    SCANLOOM_TRY(Form form, operand(node.inputs[state]));
    SCANLOOM_TRY(const Coefficient by,
                 coefficient(node.inputs[1 - state], node.op == &ops::div_op));
    return scaled(std::move(form), by);
  }
  SCANLOOM_TRY(Form a, operand(node.inputs[0]));
  SCANLOOM_TRY(const Form b, operand(node.inputs[1]));
  return sum(std::move(a), b, node.op == &ops::sub_op ? -1 : 1);
}

Expected<LinearForms::Form> LinearForms::operand(ValueId value) {
  if (const auto found = forms_.find(value); found != forms_.end()) return found->second;
  if (body_.varies(value)) return of_sequence(value);
  Form form{.states = std::vector<Coefficient>(group_.states.size()), .terms = {}};
  SCANLOOM_TRY(form.terms[ValueId()], coefficient(value, false));
  return form;
}

/// A value that differs from step to step, without the constants that it is multiplied by.
Expected<LinearForms::Form> LinearForms::of_sequence(ValueId value) {
  Coefficient by{.number = 1};
  for (int i = 0; i < kMaxFactors && module().value(value).producer.valid(); ++i) {
    const Node node = module().node(module().value(value).producer);
    const bool is_product = node.op == &ops::mul_op, is_quotient = node.op == &ops::div_op;
    if (node.op == &ops::neg_op) {
      by.number = -by.number;
      value = node.inputs[0];
      continue;
    }
    if (!is_product && !is_quotient) break;
    const std::size_t same = is_product && body_.varies(node.inputs[1]) ? 0 : 1;
    const ValueId other = node.inputs[1 - same];
    if (body_.varies(node.inputs[same]) || !outside_.has(other)) break;
    SCANLOOM_TRY(const Coefficient factor, coefficient(node.inputs[same], is_quotient));
    SCANLOOM_TRY(by, product(by, factor));
    value = other;
  }
  Form form{.states = std::vector<Coefficient>(group_.states.size()), .terms = {}};
  form.terms[value] = by;
  return form;
}

Expected<LinearForms::Form> LinearForms::scaled(Form form, const Coefficient& by) {
  for (Coefficient& coefficient : form.states) {
    SCANLOOM_TRY(coefficient, product(coefficient, by));
  }
  for (auto& [value, coefficient] : form.terms) {
    SCANLOOM_TRY(coefficient, product(coefficient, by));
  }
  return form;
}

Expected<LinearForms::Form> LinearForms::sum(Form a, const Form& b, double sign) {
  SCANLOOM_TRY(const Form added, scaled(b, {.number = sign}));
  for (std::size_t i = 0; i < a.states.size(); ++i) {
    SCANLOOM_TRY(a.states[i], sum(a.states[i], added.states[i]));
  }
  for (const auto& [value, coefficient] : added.terms) {
    SCANLOOM_TRY(a.terms[value], sum(a.terms[value], coefficient));
  }
  return a;
}

/// Returns the element of a value that is the same in all steps, or what dividing by it multiplies.
Expected<Coefficient> LinearForms::coefficient(ValueId value, bool inverse) {
  if (const auto number = known_number(module(), value))
    return Coefficient{.number = inverse ? 1 / *number : *number};
  SCANLOOM_TRY(const ValueId wide,
               builder().op(ops::cast_op, {outside_[value].value}, {{"to", DType::f64}}));
  SCANLOOM_TRY(ValueId element,
               builder().op(ops::reshape_op, {wide, list_of(builder(), {})}, {{"allowzero", 0}}));
  if (inverse) {
    SCANLOOM_TRY(element,
                 builder().op(ops::div_op, {builder().constant(Tensor::scalar(1.0)), element}));
  }
  return Coefficient{.number = 1, .value = element};
}

Expected<Coefficient> LinearForms::product(const Coefficient& a, const Coefficient& b) {
  if (a.is_zero() || b.is_zero()) return Coefficient{};
  Coefficient result{.number = a.number * b.number, .value = a.value.valid() ? a.value : b.value};
  if (a.value.valid() && b.value.valid()) {
    SCANLOOM_TRY(result.value, builder().op(ops::mul_op, {a.value, b.value}));
  }
  return result;
}

Expected<Coefficient> LinearForms::sum(const Coefficient& a, const Coefficient& b) {
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  if (!a.value.valid() && !b.value.valid()) return Coefficient{.number = a.number + b.number};
  SCANLOOM_TRY(const ValueId left, made(a));
  SCANLOOM_TRY(const ValueId right, made(b));
  SCANLOOM_TRY(const ValueId value, builder().op(ops::add_op, {left, right}));
  return Coefficient{.number = 1, .value = value};
}

/// Returns the coefficient as a value of type f64[].
Expected<ValueId> LinearForms::made(const Coefficient& coefficient) {
  if (coefficient.value.valid() && coefficient.number == 1) return coefficient.value;
  const ValueId number = builder().constant(Tensor::scalar(coefficient.number));
  if (!coefficient.value.valid()) return number;
  return builder().op(ops::mul_op, {coefficient.value, number});
}

Expected<ValueId> LinearForms::matrix_of(const std::vector<std::vector<Coefficient>>& rows) {
  const auto height = static_cast<std::int64_t>(rows.size());
  const auto width = static_cast<std::int64_t>(rows[0].size());
  std::vector<double> numbers;
  std::vector<ValueId> elements;
  bool all_known = true;
  for (const std::vector<Coefficient>& row : rows)
    for (const Coefficient& coefficient : row) {
      all_known = all_known && !coefficient.value.valid();
      numbers.push_back(coefficient.number);
    }
  if (all_known) return builder().constant(Tensor::of<double>({height, width}, numbers));
  for (const std::vector<Coefficient>& row : rows)
    for (const Coefficient& coefficient : row) {
      SCANLOOM_TRY(const ValueId element, made(coefficient));
      SCANLOOM_TRY(const ValueId as_list, ops::with_axes_of_1(builder(), element, 0, 1));
      elements.push_back(as_list);
    }
  ValueId list = elements[0];
  if (elements.size() > 1) {
    SCANLOOM_TRY(list, builder().op(ops::concat_op, elements, {{"axis", 0}}));
  }
  return builder().op(ops::reshape_op, {list, list_of(builder(), {height, width})},
                      {{"allowzero", 0}});
}

/// Returns the steps of a sequence of elements as a list; of ones, if the value is invalid.
Expected<ValueId> LinearForms::steps_of(ValueId value) {
  if (!value.valid()) {
    const bool is_float =
        module().value(body_.argument_of(group_.states[0])).type.dtype == DType::f32;
    const ValueId one = builder().constant(is_float ? Tensor::scalar(1.0F) : Tensor::scalar(1.0));
    SCANLOOM_TRY(const Lifted ones, repeated(builder(), one, like_));
    return ones.value;
  }
  return elements_of(outside_, value);
}

/// Returns the sum of all terms, as a list of the steps.
Expected<ValueId> LinearForms::term_of(const Form& form) {
  ValueId total;
  const DType dtype = module().value(body_.argument_of(group_.states[0])).type.dtype;
  for (const auto& [value, by] : form.terms) {
    SCANLOOM_TRY(ValueId term, steps_of(value));
    if (by.value.valid() || by.number != 1) {
      SCANLOOM_TRY(const ValueId wide, made(by));
      SCANLOOM_TRY(const ValueId factor, builder().op(ops::cast_op, {wide}, {{"to", dtype}}));
      SCANLOOM_TRY(term, builder().op(ops::mul_op, {term, factor}));
    }
    if (!total.valid()) {
      total = term;
      continue;
    }
    SCANLOOM_TRY(total, builder().op(ops::add_op, {total, term}));
  }
  if (total.valid()) return total;
  SCANLOOM_TRY(const ValueId ones, steps_of({}));
  return builder().op(ops::sub_op, {ones, ones});
}

}  // namespace scanloom::passes
