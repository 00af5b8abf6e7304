#include "passes/lifting/step_rules.h"

#include <algorithm>

#include "opmath/contraction.h"
#include "ops/ops.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::Type;

/// Returns the axes of operand 0 that an attribute or a constant operand names; nullopt if unknown.
std::optional<std::vector<int>> axes_of(const StepSite& s, std::size_t operand) {
  std::vector<std::int64_t> named;
  const int attribute = s.node.op->attr_index("axes");
  if (s.has(operand)) {
    const auto integers = s.integers(operand);
    if (!integers) return std::nullopt;
    named = *integers;
  } else if (attribute >= 0 && s.node.attrs[static_cast<std::size_t>(attribute)].present()) {
    named = s.node.attrs[static_cast<std::size_t>(attribute)].integers();
  } else {
    return std::nullopt;
  }
  std::vector<int> axes;
  for (const std::int64_t axis : named) {
    const auto normal = tensor::normalise_axis(axis, s.type(0).rank());
    if (!normal) return std::nullopt;
    axes.push_back(*normal);
  }
  return axes;
}

std::optional<int> axis_of(const StepSite& s, int rank) {
  return tensor::normalise_axis(attr_of(s.node, "axis").integer(), rank);
}

bool contains(const std::vector<int>& axes, int axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

// --- rules: the axis of the steps in every result. Errors say what is wrong, not where.

/// Broadcasting counts axes from the last one.
Expected<int> pointwise(const StepSite& s) {
  int behind = -1;
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    if (!s.along(i)) continue;
    const int here = s.type(i).rank() - 1 - s.axis(i);
    if (behind >= 0 && here != behind) return across("its operands have the steps on other axes");
    behind = here;
  }
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    if (!s.has(i) || s.along(i)) continue;
    const int axis = s.type(i).rank() - 1 - behind;
    if (axis >= 0 && s.type(i).dims[static_cast<std::size_t>(axis)] != Dim(1))
      return across("one of its operands has a size of its own there");
  }
  return s.result_type().rank() - 1 - behind;
}

Expected<int> contract(const StepSite& s) {
  SCANLOOM_TRY(
      const tensor::Einsum einsum,
      tensor::parse_einsum(attr_of(s.node, "spec").text(), s.type(0).rank(), s.type(1).rank()));
  int result = -1;
  for (const std::size_t i : {0, 1}) {
    if (!s.along(i)) continue;
    const tensor::Subscripts& own = i == 0 ? einsum.a : einsum.b;
    const tensor::Subscripts& other = i == 0 ? einsum.b : einsum.a;
    const std::uint8_t label = own.labels[static_cast<std::size_t>(s.axis(i))];
    const int to = einsum.out.find(label);
    if (to < 0) return across("it sums over them");
    const int there = other.find(label);
    const bool fits = there < 0 || (s.along(1 - i) && s.axis(1 - i) == there);
    if (!fits || (result >= 0 && result != to))
      return across("its operands have the steps on other axes");
    result = to;
  }
  return result;
}

/// Returns the axis of the steps after `axes`, which do not contain it, are removed.
int without(const std::vector<int>& axes, int steps) {
  return steps -
         static_cast<int>(std::ranges::count_if(axes, [&](int axis) { return axis < steps; }));
}

Expected<int> reduce(const StepSite& s) {
  const auto axes = axes_of(s, 1);
  if (!axes || axes->empty() || contains(*axes, s.axis(0))) return across("it reduces over them");
  if (attr_of(s.node, "keepdims").integer() != 0) return s.axis(0);
  return without(*axes, s.axis(0));
}

Expected<int> transpose(const StepSite& s) {
  const auto order = order_of(s.module, s.node);
  if (!order) return across("its order of axes is not known");
  return static_cast<int>(std::ranges::find(*order, s.axis(0)) - order->begin());
}

Expected<int> squeeze(const StepSite& s) {
  const auto axes = axes_of(s, 1);
  if (!axes || contains(*axes, s.axis(0))) return across("it may take their axis away");
  return without(*axes, s.axis(0));
}

Expected<int> unsqueeze(const StepSite& s) {
  if (s.has(1)) return across("its axes are not known");
  std::vector<int> added;
  for (const std::int64_t axis : attr_of(s.node, "axes").integers())
    added.push_back(tensor::normalise_axis(axis, s.result_type().rank()).value_or(0));
  int result = 0;
  for (int left = s.axis(0); contains(added, result) || left > 0; ++result)
    if (!contains(added, result)) --left;
  return result;
}

Expected<int> concat(const StepSite& s) {
  const auto axis = axis_of(s, s.type(0).rank());
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i)
    if (!s.along(i) || s.axis(i) != s.axis(0))
      return across("its operands do not all have the steps on one axis");
  if (axis == s.axis(0)) return across("it puts them behind one another");
  return s.axis(0);
}

/// Operators that work along one axis.
Expected<int> along_axis(const StepSite& s) {
  if (axis_of(s, s.type(0).rank()) == s.axis(0)) return across("it works along their axis");
  return s.axis(0);
}

Expected<int> cumulate(const StepSite& s) {
  const auto axis = s.integers(1);
  if (!axis || axis->size() != 1 ||
      tensor::normalise_axis(axis->front(), s.type(0).rank()) == s.axis(0))
    return across("it works along their axis");
  return s.axis(0);
}

Expected<int> arg_min_max(const StepSite& s) {
  SCANLOOM_TRY(const int axis, along_axis(s));
  if (attr_of(s.node, "keepdims").integer() != 0) return axis;
  return *axis_of(s, s.type(0).rank()) < axis ? axis - 1 : axis;
}

Expected<int> slice(const StepSite& s) {
  std::vector<int> axes;
  if (s.has(3)) {
    const auto named = axes_of(s, 3);
    if (!named) return across("its axes are not known");
    axes = *named;
  } else {
    const Type& starts = s.type(1);
    if (!starts.is_static()) return across("its axes are not known");
    for (std::int64_t axis = 0; axis < starts.shape().elements(); ++axis)
      axes.push_back(static_cast<int>(axis));
  }
  if (contains(axes, s.axis(0))) return across("it takes some of them");
  return s.axis(0);
}

/// There is one scale for all elements, or the scales are along another axis.
Expected<int> quantized(const StepSite& s) {
  for (const std::size_t i : {1, 2}) {  // the scale, and the zero point
    if (!s.has(i)) continue;
    if (s.type(i).rank() > 1) return across("it has scales for blocks of elements");
    if (s.type(i).rank() == 1 && s.type(i).dims[0] != Dim(1)) return along_axis(s);
  }
  return s.axis(0);
}

/// Operators that treat every element on its own.
Expected<int> unchanged(const StepSite& s) { return s.axis(0); }

/// May also treat both parts of a complex number, along the last axis, as one.
Expected<int> bit_cast(const StepSite& s) {
  if (s.axis(0) >= s.result_type().rank()) return across("it makes one complex number of several");
  return s.axis(0);
}

/// One copy of each step; any number of copies along the other axes.
Expected<int> tile(const StepSite& s) {
  const auto repeats = s.integers(1);
  if (!repeats || (*repeats)[static_cast<std::size_t>(s.axis(0))] != 1)
    return across("it repeats them");
  return s.axis(0);
}

Expected<int> expand(const StepSite& s) {
  const int axis = s.axis(0) + s.result_type().rank() - s.type(0).rank();
  if (s.result_type().dims[static_cast<std::size_t>(axis)] !=
      s.type(0).dims[static_cast<std::size_t>(s.axis(0))])
    return across("it repeats them");
  return axis;
}

Expected<int> pad(const StepSite& s) {
  constexpr std::size_t kPads = 1, kAxes = 3;
  const auto pads = s.integers(kPads);
  const auto axes = axes_of(s, kAxes);
  if (!pads || (s.has(kAxes) && !axes)) return across("what it adds is not known");
  const std::size_t count = pads->size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const bool theirs = (axes ? (*axes)[i] : static_cast<int>(i)) == s.axis(0);
    if (theirs && ((*pads)[i] != 0 || (*pads)[count + i] != 0))
      return across("it adds or removes some of them");
  }
  return s.axis(0);
}

/// The product of the sizes of the axes before `count`.
Dim size_before(const StepSite& s, const Type& type, std::size_t count) {
  Dim product = 1;
  for (std::size_t i = 0; i < count; ++i) product = s.dims.mul(product, type.dims[i]);
  return product;
}

/// The axes before the steps must have as many elements before and after the reshape. A size that
/// is a multiple of the number of steps then holds that many neighbours of each step.
Expected<StepFlow> reshape(const StepSite& s) {
  const Type &from = s.type(0), &to = s.result_type();
  const Dim before = size_before(s, from, static_cast<std::size_t>(s.axis(0)));
  for (std::size_t i = 0; i < to.dims.size(); ++i) {
    if (size_before(s, to, i) != before) continue;
    const Dim each = s.dims.floor_div(to.dims[i], s.steps);
    if (each != Dim(0) && s.dims.mul(each, s.steps) == to.dims[i])
      return StepFlow{StepFlow::Kind::along, static_cast<int>(i), each};
  }
  return across("it mixes their axis with others");
}

struct StepRule {
  const ir::OpDef* op;
  Expected<int> (*axis)(const StepSite&);
  bool any_operand = false;  ///< operands other than the first may have the steps
};

constexpr StepRule kStepPointwise{nullptr, pointwise, true};
constexpr StepRule kStepRules[] = {
    {&ops::argmax_op, arg_min_max},
    {&ops::argmin_op, arg_min_max},
    {&ops::average_pool_op, steps_of_pool},
    {&ops::bit_cast_op, bit_cast},
    {&ops::cholesky_op, steps_of_matrices},
    {&ops::col2im_op, steps_of_windows},
    {&ops::concat_op, concat, true},
    {&ops::contract_op, contract, true},
    {&ops::conv_op, steps_of_windows},
    {&ops::conv_transpose_op, steps_of_windows},
    {&ops::cumprod_op, cumulate},
    {&ops::cumsum_op, cumulate},
    {&ops::deform_conv_op, steps_of_deform_conv, true},
    {&ops::dense_op, unchanged},
    {&ops::dequantize_linear_op, quantized},
    {&ops::expand_op, expand},
    {&ops::gather_op, steps_of_gather, true},
    {&ops::gather_elements_op, steps_of_gather_elements, true},
    {&ops::gather_nd_op, steps_of_gather_nd, true},
    {&ops::grid_sample_op, steps_of_grid_sample, true},
    {&ops::identity_op, unchanged},
    {&ops::label_encode_op, unchanged},
    {&ops::log_softmax_op, along_axis},
    {&ops::lp_pool_op, steps_of_pool},
    {&ops::lu_det_op, steps_of_matrices, true},
    {&ops::lu_factor_op, steps_of_matrices},
    {&ops::max_pool_op, steps_of_pool},
    {&ops::max_roi_pool_op, steps_of_regions, true},
    {&ops::pad_op, pad},
    {&ops::qlinear_conv_op, steps_of_windows},
    {&ops::quantize_linear_op, quantized},
    {&ops::reduce_op, reduce},
    {&ops::resample_op, along_axis},
    {&ops::reverse_sequence_op, steps_of_reverse_sequence, true},
    {&ops::roi_align_op, steps_of_regions, true},
    {&ops::scatter_elements_op, steps_of_scatter_elements, true},
    {&ops::scatter_nd_op, steps_of_scatter_nd, true},
    {&ops::slice_op, slice},
    {&ops::softmax_op, along_axis},
    {&ops::split_op, along_axis},
    {&ops::squeeze_op, squeeze},
    {&ops::tile_op, tile},
    {&ops::topk_op, along_axis},
    {&ops::transpose_op, transpose},
    {&ops::unsqueeze_op, unsqueeze},
};

/// Returns how many neighbours belong to each step, which must be the same in all operands along
/// the steps.
Expected<Dim> neighbours_of_each(const StepSite& s) {
  std::optional<Dim> each;
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    if (!s.along(i)) continue;
    if (each && *each != s.flow(i).each) return across("its operands have them in other parts");
    each = s.flow(i).each;
  }
  return *each;
}

}  // namespace

bool StepSite::has(std::size_t i) const { return i < node.inputs.size() && node.inputs[i].valid(); }

bool StepSite::along(std::size_t i) const {
  return has(i) && flow(i).kind == StepFlow::Kind::along;
}

StepFlow::Kind StepSite::kind(std::size_t i) const {
  return has(i) ? flow(i).kind : StepFlow::Kind::same;
}

bool StepSite::any(StepFlow::Kind wanted) const {
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (kind(i) == wanted) return true;
  return false;
}

const StepFlow& StepSite::flow(std::size_t i) const { return flows[node.inputs[i].index]; }

const Type& StepSite::type(std::size_t i) const { return module.value(node.inputs[i]).type; }

const Type& StepSite::result_type() const { return module.value(node.outputs[0]).type; }

std::optional<std::vector<std::int64_t>> StepSite::integers(std::size_t i) const {
  const tensor::Tensor* constant = has(i) ? constant_of(module, node.inputs[i]) : nullptr;
  return constant != nullptr ? tensor::to_integers(*constant) : std::nullopt;
}

bool StepSite::is_read(std::size_t output) const { return uses[node.outputs[output].index] > 0; }

Error across(std::string reason) { return fail(Code::unsupported, "{}", reason); }

Expected<StepFlow> flow_of_results(const StepSite& s) {
  const bool reshapes = s.node.op == &ops::reshape_op || s.node.op == &ops::flatten_op;
  const StepRule* row = std::ranges::find(kStepRules, s.node.op, &StepRule::op);
  if (row == std::end(kStepRules)) row = s.node.op->scalar != nullptr ? &kStepPointwise : nullptr;
  if (row == nullptr && !reshapes)
    return across(fmt::format("'{}' has no rule for streams", s.node.op->name));
  const bool any_operand = !reshapes && row->any_operand;
  for (std::size_t i = 0; i < s.node.inputs.size() && !any_operand; ++i)
    if (s.along(i) != (i == 0)) return across("an operand other than the first has them");
  if (reshapes) return reshape(s);
  SCANLOOM_TRY(const Dim each, neighbours_of_each(s));
  SCANLOOM_TRY(const int axis, row->axis(s));
  return StepFlow{StepFlow::Kind::along, axis, each};
}

}  // namespace scanloom::passes
