// Random nodes that compute new values.
#include "tests/differential/random_maker.h"

#include <algorithm>
#include <string>

namespace scanloom::differential {

using ir::Type;
using ir::ValueId;
using tensor::Shape;
using tensor::Tensor;

void Maker::add_unary(Scope& scope) {
  static constexpr const ir::OpDef* kOps[] = {
      &ops::neg_op,   &ops::abs_op, &ops::exp_op,  &ops::log_op,  &ops::sqrt_op, &ops::tanh_op,
      &ops::tanh_op,  &ops::sin_op, &ops::cos_op,  &ops::relu_op, &ops::ceil_op, &ops::sigmoid_op,
      &ops::floor_op, &ops::erf_op, &ops::sign_op, &ops::round_op};
  const auto x = any(scope);
  if (!x) return;
  const bool boolean = type(*x).dtype == DType::boolean;
  add(scope, boolean ? ops::logical_not_op : *one_of(kOps), {*x});
}

void Maker::add_binary(Scope& scope) {
  static constexpr const ir::OpDef* kOps[] = {&ops::add_op, &ops::sub_op, &ops::mul_op,
                                              &ops::div_op, &ops::min_op, &ops::max_op};
  static constexpr const ir::OpDef* kLogical[] = {&ops::logical_and_op, &ops::logical_or_op,
                                                  &ops::logical_xor_op};
  const auto a = any(scope);
  const auto b = a ? partner(scope, *a) : a;
  if (!b) return;
  const bool boolean = type(*a).dtype == DType::boolean;
  add(scope, boolean ? *one_of(kLogical) : *one_of(kOps), {*a, *b});
}

void Maker::add_compare(Scope& scope) {
  static constexpr const ir::OpDef* kOps[] = {&ops::less_op, &ops::less_equal_op, &ops::equal_op};
  const auto a = pick(scope, [](const Type& t) { return t.dtype != DType::boolean; });
  const auto b = a ? partner(scope, *a) : a;
  if (b) add(scope, *one_of(kOps), {*a, *b});
}

void Maker::add_where(Scope& scope) {
  const auto a = any(scope);
  const auto b = a ? partner(scope, *a) : a;
  if (!b) return;
  const auto condition = pick(scope, [&](const Type& t) {
    return t.dtype == DType::boolean && broadcast(t, type(*a)) && broadcast(t, type(*b));
  });
  if (condition) add(scope, ops::where_op, {*condition, *a, *b});
}

void Maker::add_cast(Scope& scope) {
  if (const auto x = any(scope)) add(scope, ops::cast_op, {*x}, {{"to", some_dtype()}});
}

std::optional<ValueId> Maker::reduce(Scope& scope, ValueId x, const char* kind,
                                     const Integers& axes, bool keep) {
  return add(scope, ops::reduce_op, {x}, {{"kind", kind}, {"axes", axes}, {"keepdims", keep}});
}

void Maker::add_reduce(Scope& scope) {
  constexpr const char* kKinds[] = {"sum",  "sum",        "mean", "max", "min",
                                    "prod", "sum_square", "l1",   "l2",  "max"};
  const auto x =
      pick(scope, [](const Type& t) { return t.rank() > 0 && t.dtype != DType::boolean; });
  if (!x) return;
  Integers axes;
  for (int axis = 0; axis < type(*x).rank(); ++axis)
    if (chance(50)) axes.push_back(axis);
  if (axes.empty()) axes.push_back(between(0, type(*x).rank() - 1));
  reduce(scope, *x, one_of(kKinds), axes, chance(30));
}

void Maker::add_product(Scope& scope) {
  const auto a = pick(scope, [](const Type& t) {
    return t.rank() > 0 && t.rank() < 4 && t.dtype != DType::boolean;
  });
  if (!a) return;
  const Type left = type(*a);
  const int axis = between(0, left.rank() - 1);
  const auto matching = [&](const Type& t) {
    Integers axes;
    for (int i = 0; i < t.rank(); ++i)
      if (dim(t, i) == dim(left, axis)) axes.push_back(i);
    return axes;
  };
  const auto b = pick(scope, [&](const Type& t) {
    return t.dtype == left.dtype && t.rank() < 4 && !matching(t).empty();
  });
  if (!b) return;
  const Type right = type(*b);
  const Integers axes = matching(right);
  const auto other = axes[static_cast<std::size_t>(between(0, static_cast<int>(axes.size()) - 1))];
  const bool batched = axis > 0 && other > 0 && dim(left, 0) == dim(right, 0) && chance(70);
  std::string first, second, result;
  for (int i = 0; i < left.rank(); ++i) {
    first += static_cast<char>('a' + i);
    if (i != axis) result += first.back();
  }
  for (int i = 0; i < right.rank(); ++i) {
    const bool summed = i == other, shared = batched && i == 0;
    second +=
        summed ? first[static_cast<std::size_t>(axis)] : static_cast<char>(shared ? 'a' : 'n' + i);
    if (!summed && !shared) result += second.back();
  }
  if (elements_of(left) * elements_of(right) > 64 * kMaxElements) return;
  add(scope, ops::contract_op, {*a, *b}, {{"spec", first + "," + second + "->" + result}});
}

void Maker::add_min_max(Scope& scope) {
  const auto x = pick(scope, [](const Type& t) {
    return t.rank() > 0 && t.is_static() && t.dtype != DType::boolean && elements_of(t) > 0;
  });
  if (!x) return;
  add(scope, chance(50) ? ops::argmax_op : ops::argmin_op, {*x},
      {{"axis", between(0, type(*x).rank() - 1)},
       {"keepdims", chance(30)},
       {"select_last_index", chance(30)}});
}

void Maker::add_softmax(Scope& scope) {
  const auto x = pick(scope, [](const Type& t) { return t.rank() > 0 && is_float(t.dtype); });
  if (x)
    add(scope, chance(50) ? ops::softmax_op : ops::log_softmax_op, {*x},
        {{"axis", between(0, type(*x).rank() - 1)}});
}

void Maker::add_cumulative(Scope& scope) {
  const auto x = pick(scope, [](const Type& t) {
    return t.rank() > 0 && t.is_static() && t.dtype != DType::boolean;
  });
  if (!x) return;
  const auto axis = static_cast<std::int64_t>(between(0, type(*x).rank() - 1));
  add(scope, ops::cumsum_op, {*x, constant(scope, Tensor::scalar(axis))},
      {{"exclusive", chance(30)}, {"reverse", chance(30)}});
}

void Maker::add_power(Scope& scope) {
  const auto a = pick(scope, [](const Type& t) { return t.dtype != DType::boolean; });
  const auto b = a ? partner(scope, *a) : a;
  if (!b) return;
  if (chance(50))
    add(scope, ops::mod_op, {*a, *b}, {{"fmod", is_float(type(*a).dtype) || chance(50)}});
  else if (is_float(type(*a).dtype))
    add(scope, ops::pow_op, {chance(50) ? *a : add(scope, ops::abs_op, {*a}).value_or(*a), *b});
}

void Maker::add_levels(Scope& scope) {
  const auto x = pick(scope, [](const Type& t) { return t.dtype == DType::f32; });
  if (!x) return;
  const ValueId scale =
      constant(scope, Tensor::scalar(0.0625F * static_cast<float>(between(1, 9))));
  const ValueId zero =
      chance(50) ? constant(scope, Tensor::scalar(static_cast<std::uint8_t>(between(0, 255))))
                 : constant(scope, Tensor::scalar(static_cast<std::int8_t>(between(-128, 127))));
  const auto levels = add(scope, ops::quantize_linear_op, {*x, scale, zero}, {{"axis", 1}});
  if (levels && chance(80))
    add(scope, ops::dequantize_linear_op, {*levels, scale, zero}, {{"axis", 1}});
}

void Maker::add_window(Scope& scope) {
  const auto x = pick(scope, [](const Type& t) {
    return t.rank() == 3 && t.is_static() && is_float(t.dtype) && elements_of(t) > 0;
  });
  if (!x) return;
  const Type from = type(*x);
  const std::int64_t channels = dim(from, 1).value();
  const int longest = static_cast<int>(std::min<std::int64_t>(dim(from, 2).value(), 5));
  const std::int64_t kernel = between(1, longest), stride = between(1, 2);
  if (chance(50)) {
    const Shape weights{between(1, 4), channels, kernel};
    const ValueId w = constant(scope, some_tensor(from.dtype, weights));
    add(scope, ops::conv_op, {*x, w}, {{"strides", Integers{stride}}});
    return;
  }
  const bool most = chance(50);
  std::vector<ir::NamedAttr> attrs = {{"ceil_mode", chance(20)},
                                      {"kernel", Integers{kernel}},
                                      {"strides", Integers{stride}},
                                      {most ? "storage_order" : "count_include_pad", false}};
  if (!most) {
    add(scope, ops::average_pool_op, {*x}, std::move(attrs));
    return;
  }
  const auto pool =
      ir::Builder(module_, scope.region).node(ops::max_pool_op, {*x}, std::move(attrs), 2);
  if (!pool) return;
  for (const ValueId output : module_.node(*pool).outputs)
    if (type(output).ranked) scope.values.push_back(output);
}

void Maker::add_places(Scope& scope) {
  const auto x = pick(scope, [](const Type& t) { return t.rank() > 0 && t.is_static(); });
  const auto places = x ? add(scope, ops::non_zero_op, {*x}) : std::nullopt;
  if (places) reduce(scope, *places, "sum", {0, 1}, false);
}

void Maker::add_draw(Scope& scope) {
  const auto x = pick(scope, [](const Type& t) { return t.dtype == DType::i64; });
  Tensor words = *Tensor::zeros(DType::u64, {2});
  static_cast<std::uint64_t*>(words.mutable_data())[0] = random_();
  ValueId key = constant(scope, std::move(words));
  if (x && chance(70))
    if (const auto number = summary(scope, DType::i64))
      if (const auto word = add(scope, ops::cast_op, {*number}, {{"to", DType::u64}}))
        key = add(scope, ops::add_op, {key, *word}).value_or(key);
  add(scope, ops::draw_op, {key, integers(scope, {between(1, 40)})},
      {{"kind", chance(50) ? "uniform" : "normal"}, {"to", chance(70) ? DType::f32 : DType::f64}});
}

void Maker::add_number(Scope& scope) {
  scope.values.push_back(constant(scope, some_tensor(some_dtype(), some_shape())));
}

}  // namespace scanloom::differential
