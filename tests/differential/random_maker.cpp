#include "tests/differential/random_maker.h"

#include <algorithm>

#include "tensor/scalar_eval.h"

namespace scanloom::differential {

using ir::Dim;
using ir::Module;
using ir::Type;
using ir::ValueId;
using tensor::Shape;
using tensor::Tensor;

bool broadcast(const Type& a, const Type& b) {
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const Dim x = a.dims[static_cast<std::size_t>(a.rank() - i)];
    const Dim y = b.dims[static_cast<std::size_t>(b.rank() - i)];
    if (x != y && x != Dim(1) && y != Dim(1)) return false;
  }
  return true;
}

std::int64_t elements_of(const Type& type) {
  std::int64_t elements = 1;
  for (const Dim dim : type.dims) elements *= dim.is_constant() ? dim.value() : 32;
  return elements;
}

Module Maker::run() {
  Scope top = make_inputs();
  const int loops = between(1, 3);
  for (int i = 0; i < loops; ++i) {
    grow(top, between(0, 3));
    add_loop(top);
  }
  grow(top, between(0, 4));
  const std::size_t first = top.values.size() > 12 ? top.values.size() - 12 : 1;
  for (std::size_t i = first; i < top.values.size(); ++i) {
    module_.region(module_.top()).yields.push_back(top.values[i]);
    module_.output_names.push_back("y" + std::to_string(i));
  }
  return std::move(module_);
}

DType Maker::some_dtype() {
  constexpr DType kTypes[] = {DType::f32,  DType::f32, DType::f32, DType::f32,
                              DType::f32,  DType::f64, DType::f64, DType::f16,
                              DType::bf16, DType::i32, DType::i64, DType::boolean};
  return one_of(kTypes);
}

Shape Maker::some_shape() {
  constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 5, 8, 17, 130};
  Shape shape;
  for (int rank = between(0, 3); rank > 0; --rank) {
    const std::int64_t size = one_of(kSizes);
    shape.push_back(size * shape.elements() <= kMaxElements ? size : 1);
  }
  return shape;
}

Tensor Maker::some_tensor(DType dtype, const Shape& shape) {
  Tensor tensor = *Tensor::zeros(dtype, shape);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const int number = between(-6, 6);
    if (dtype == DType::f32)
      static_cast<float*>(tensor.mutable_data())[i] = static_cast<float>(number) * 0.375F;
    if (dtype == DType::f64) static_cast<double*>(tensor.mutable_data())[i] = number * 0.4375;
    if (dtype == DType::f16 || dtype == DType::bf16)
      static_cast<std::uint16_t*>(tensor.mutable_data())[i] =
          static_cast<std::uint16_t>(tensor::scalar_bits(number * 0.625, dtype));
    if (dtype == DType::i32) static_cast<std::int32_t*>(tensor.mutable_data())[i] = number;
    if (dtype == DType::i64) static_cast<std::int64_t*>(tensor.mutable_data())[i] = number;
    if (dtype == DType::boolean) static_cast<bool*>(tensor.mutable_data())[i] = number > 0;
  }
  return tensor;
}

Maker::Scope Maker::make_inputs() {
  Scope top{module_.top()};
  steps_ = module_.add_argument(module_.top(), Type::scalar(DType::i64), "n");
  const Dim length = module_.dims.symbol("T");
  for (int i = between(3, 6); i > 0; --i) {
    const DType dtype = some_dtype();
    Type made = Type::of(dtype, some_shape());
    if (chance(40)) made.dims.insert(made.dims.begin() + between(0, made.rank()), length);
    top.values.push_back(
        module_.add_argument(module_.top(), std::move(made), "x" + std::to_string(i)));
  }
  return top;
}

ValueId Maker::integers(const Scope& scope, const Integers& numbers) {
  Tensor value = *Tensor::zeros(DType::i64, {static_cast<std::int64_t>(numbers.size())});
  std::ranges::copy(numbers, static_cast<std::int64_t*>(value.mutable_data()));
  return constant(scope, std::move(value));
}

std::optional<ValueId> Maker::add(Scope& scope, const ir::OpDef& op, std::vector<ValueId> inputs,
                                  std::vector<ir::NamedAttr> attrs) {
  const auto made = ir::Builder(module_, scope.region).op(op, std::move(inputs), std::move(attrs));
  if (!made || !type(*made).ranked) return std::nullopt;
  if (elements_of(type(*made)) <= kMaxElements && type(*made).rank() <= 5)
    scope.values.push_back(*made);
  return *made;
}

void Maker::grow(Scope& scope, int count) {
  for (int i = 0; i < count; ++i) add_something(scope);
}

void Maker::add_something(Scope& scope) {
  using Step = void (Maker::*)(Scope&);
  constexpr Step kSteps[] = {
      &Maker::add_unary,   &Maker::add_unary,  &Maker::add_unary,   &Maker::add_binary,
      &Maker::add_binary,  &Maker::add_binary, &Maker::add_binary,  &Maker::add_binary,
      &Maker::add_compare, &Maker::add_where,  &Maker::add_cast,    &Maker::add_reduce,
      &Maker::add_reduce,  &Maker::add_reduce, &Maker::add_product, &Maker::add_product,
      &Maker::add_concat,  &Maker::add_slice,  &Maker::add_gather,  &Maker::add_min_max,
      &Maker::add_softmax, &Maker::add_view,   &Maker::add_view,    &Maker::add_cumulative,
      &Maker::add_number,  &Maker::add_branch, &Maker::add_loop,    &Maker::add_power,
      &Maker::add_scatter, &Maker::add_pick,   &Maker::add_levels,  &Maker::add_window,
      &Maker::add_draw,    &Maker::add_places, &Maker::add_tuples,  &Maker::add_pad,
  };
  (this->*one_of(kSteps))(scope);
}

std::optional<ValueId> Maker::partner(const Scope& scope, ValueId a) {
  const Type wanted = type(a);
  return pick(scope, [&](const Type& t) {
    return t.dtype == wanted.dtype && broadcast(t, wanted) &&
           elements_of(t) * elements_of(wanted) <= 64 * kMaxElements;
  });
}

ValueId Maker::some_indices(Scope& scope, const Type& like, std::int64_t size) {
  const auto data = pick(scope, [&](const Type& t) {
    return (t.dtype == DType::i64 || t.dtype == DType::i32) && t.dims == like.dims;
  });
  if (data && chance(60)) {
    const auto number = [&](std::int64_t value) {
      return type(*data).dtype == DType::i64
                 ? constant(scope, Tensor::scalar(value))
                 : constant(scope, Tensor::scalar(static_cast<std::int32_t>(value)));
    };
    const auto inside = add(scope, ops::mod_op, {*data, number(size)}, {{"fmod", false}});
    const auto from_end =
        inside && chance(30) ? add(scope, ops::sub_op, {*inside, number(size)}) : inside;
    if (from_end) return *from_end;
  }
  Shape shape;
  for (const Dim dim : like.dims) shape.push_back(dim.value());
  Tensor indices = *Tensor::zeros(DType::i64, shape);
  const int last = static_cast<int>(size) - 1;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    static_cast<std::int64_t*>(indices.mutable_data())[i] = between(-last - 1, last);
  return constant(scope, std::move(indices));
}

bool Maker::fits_beside(const Type& part, const Type& whole, int axis) {
  if (part.rank() != whole.rank() || !part.is_static()) return false;
  for (int i = 0; i < part.rank(); ++i)
    if (i != axis && dim(part, i).value() > dim(whole, i).value()) return false;
  return true;
}

std::optional<ValueId> Maker::summary(Scope& scope, DType dtype) {
  const auto x =
      pick(scope, [&](const Type& t) { return t.dtype == dtype && dtype != DType::boolean; });
  if (!x || type(*x).rank() == 0) return x;
  Integers axes;
  for (int axis = 0; axis < type(*x).rank(); ++axis) axes.push_back(axis);
  return reduce(scope, *x, chance(50) ? "max" : "mean", axes, false);
}

ValueId Maker::like(Scope& scope, ValueId base) {
  const Type wanted = type(base);
  const auto same =
      pick(scope, [&](const Type& t) { return t.dtype == wanted.dtype && t.dims == wanted.dims; });
  if (same && *same != base && chance(60)) return *same;
  if (wanted.dtype == DType::boolean)
    return add(scope, ops::logical_not_op, {same.value_or(base)}).value_or(base);
  if (chance(20))
    if (const auto put = scattered(scope, base)) return *put;
  static constexpr const ir::OpDef* kOps[] = {&ops::add_op, &ops::sub_op, &ops::min_op,
                                              &ops::max_op};
  const auto one = summary(scope, wanted.dtype);
  std::optional<ValueId> made;
  if (one) made = add(scope, *one_of(kOps), {same.value_or(base), *one});
  if (!made || type(*made).dims != wanted.dims) return base;
  if (wanted.dtype == DType::f32 && chance(60)) made = add(scope, ops::tanh_op, {*made});
  return made.value_or(base);
}

ValueId Maker::condition(Scope& scope) {
  const auto grown = pick(scope, [](const Type& t) { return t.rank() > 0 && !t.is_static(); });
  if (grown && chance(30)) {
    const auto size =
        add(scope, ops::dim_op, {*grown}, {{"axis", between(0, type(*grown).rank() - 1)}});
    const ValueId limit = constant(scope, Tensor::scalar(static_cast<std::int64_t>(between(0, 6))));
    if (size)
      if (const auto made = add(scope, ops::less_op, {*size, limit})) return *made;
  }
  if (const auto x = summary(scope, chance(70) ? DType::f32 : DType::i64)) {
    const ValueId limit = constant(scope, some_tensor(type(*x).dtype, {}));
    if (const auto made = add(scope, ops::less_op, {*x, limit})) return *made;
  }
  return constant(scope, Tensor::scalar(chance(70)));
}

ValueId Maker::decided_count(Scope& scope) {
  const auto some = [&](int least, int most) {
    return constant(scope, Tensor::scalar(static_cast<std::int64_t>(between(least, most))));
  };
  const ValueId many = some(1, 6), few = some(-1, 2);
  return *add(scope, ops::where_op, {condition(scope), many, few});
}

}  // namespace scanloom::differential
