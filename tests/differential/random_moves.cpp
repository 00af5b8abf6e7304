// Random nodes that move elements without computing.
#include "tests/differential/random_maker.h"

#include <algorithm>

namespace scanloom::differential {

using ir::Dim;
using ir::Type;
using ir::ValueId;
using tensor::Shape;
using tensor::Tensor;

void Maker::add_concat(Scope& scope) {
  const auto a = with_axes(scope);
  if (!a) return;
  const Type first = type(*a);
  const int axis = between(0, first.rank() - 1);
  std::vector<ValueId> parts = {*a};
  for (int i = between(1, 3); i > 0; --i) {
    const auto b = pick(scope, [&](Type t) {
      if (t.dtype != first.dtype || t.rank() != first.rank() || !t.is_static()) return false;
      t.dims[static_cast<std::size_t>(axis)] = dim(first, axis);
      return t.dims == first.dims;
    });
    if (b) parts.push_back(*b);
  }
  add(scope, ops::concat_op, parts, {{"axis", axis}});
}

void Maker::add_slice(Scope& scope) {
  const auto x = with_axes(scope);
  if (!x) return;
  const int axis = between(0, type(*x).rank() - 1);
  const int size = static_cast<int>(dim(type(*x), axis).value());
  const int start = between(0, size - 1), end = between(start + 1, size);
  const bool back = chance(25);
  const std::int64_t step = back ? -1 : between(1, 2);
  const Integers from = {back ? end - 1 : start}, to = {back ? start - 1 - size : end};
  add(scope, ops::slice_op,
      {*x, integers(scope, from), integers(scope, to), integers(scope, {axis}),
       integers(scope, {step})});
}

void Maker::add_gather(Scope& scope) {
  const auto x = with_axes(scope);
  if (!x) return;
  const int axis = between(0, type(*x).rank() - 1);
  const int size = static_cast<int>(dim(type(*x), axis).value());
  if (chance(40)) {
    const auto from = pick(scope, [&](const Type& t) {
      return t.rank() == 1 && t.dtype != DType::boolean && t.is_static() &&
             dim(t, 0).value() >= 1 && dim(t, 0).value() <= size;
    });
    if (!from) return;
    if (chance(40)) {
      const Type shape = type(*from);
      add(scope, ops::gather_op, {*x, some_indices(scope, shape, size)}, {{"axis", axis}});
      return;
    }
    const auto place = add(scope, ops::argmax_op, {*from},
                           {{"axis", 0}, {"keepdims", chance(50)}, {"select_last_index", false}});
    if (place) add(scope, ops::gather_op, {*x, *place}, {{"axis", axis}});
    return;
  }
  Tensor indices = *Tensor::zeros(DType::i64, chance(40) ? Shape{} : Shape{between(1, 6)});
  for (std::int64_t i = 0; i < indices.elements(); ++i)
    static_cast<std::int64_t*>(indices.mutable_data())[i] = between(-size, size - 1);
  add(scope, ops::gather_op, {*x, constant(scope, std::move(indices))}, {{"axis", axis}});
}

void Maker::add_view(Scope& scope) {
  const auto x = with_axes(scope);
  if (!x) return;
  const Type from = type(*x);
  Integers numbers;
  switch (between(0, 3)) {
    case 0:
      for (int i = 0; i < from.rank(); ++i) numbers.push_back(i);
      std::ranges::shuffle(numbers, random_);
      add(scope, ops::transpose_op, {*x}, {{"perm", numbers}});
      break;
    case 1:
      add(scope, ops::reshape_op, {*x, integers(scope, {elements_of(from)})}, {{"allowzero", 1}});
      break;
    case 2:
      if (from.rank() < 4)
        add(scope, ops::unsqueeze_op, {*x}, {{"axes", Integers{between(0, from.rank())}}});
      break;
    default:
      for (int i = 0; i < from.rank(); ++i)
        if (dim(from, i) == Dim(1)) numbers = {i};
      if (!numbers.empty()) add(scope, ops::squeeze_op, {*x}, {{"axes", numbers}});
  }
}

void Maker::add_scatter(Scope& scope) {
  if (const auto x = with_axes(scope)) scattered(scope, *x);
}

std::optional<ValueId> Maker::scattered(Scope& scope, ValueId x) {
  if (chance(60)) return scattered_slice(scope, x);
  constexpr const char* kReductions[] = {"none", "none", "add", "add", "mul", "max", "min"};
  const Type into = type(x);
  if (into.rank() == 0 || !into.is_static() || elements_of(into) == 0) return std::nullopt;
  const int axis = between(0, into.rank() - 1);
  const auto updates = pick(
      scope, [&](const Type& t) { return t.dtype == into.dtype && fits_beside(t, into, axis); });
  if (!updates) return std::nullopt;
  const char* const reduction = into.dtype == DType::boolean ? "none" : one_of(kReductions);
  const ValueId indices = some_indices(scope, type(*updates), dim(into, axis).value());
  return add(scope, ops::scatter_elements_op, {x, indices, *updates},
             {{"axis", axis}, {"reduction", reduction}});
}

std::optional<ValueId> Maker::scattered_slice(Scope& scope, ValueId x) {
  constexpr const char* kReductions[] = {"none", "none", "none", "add", "add", "mul", "max", "min"};
  const Type into = type(x);
  if (into.rank() == 0 || !into.is_static() || elements_of(into) == 0) return std::nullopt;
  Integers sliced, picked;
  std::int64_t least = dim(into, 0).value();  // of the picked axes
  for (int axis = 0; axis < into.rank(); ++axis) {
    const int kind = between(0, 3);
    if (kind == 0) picked.push_back(axis);
    if (kind == 1 || kind == 2) sliced.push_back(axis);
    if (kind == 0) least = std::min(least, dim(into, axis).value());
  }
  const auto list = [&](const Integers& axes, std::int64_t size) {
    return some_indices(scope, Type::of(DType::i64, {Dim(std::ssize(axes))}), size);
  };
  std::vector<ValueId> bounds(3);  // starts, ends, steps
  if (!sliced.empty()) {
    Integers ends, steps;
    for (const std::int64_t axis : sliced) {
      ends.push_back(chance(70) ? 1000 : between(-3, 4));
      steps.push_back(chance(70) ? 1 : chance(50) ? 2 : -1);
      if (steps.back() < 0) ends.back() = -1000;
      static_cast<void>(axis);
    }
    bounds = {list(sliced, chance(70) ? 2 : 4), integers(scope, ends), integers(scope, steps)};
  }
  // The elements at that position, those slightly further on, or others, which rarely fit in size.
  std::vector<ValueId> read{x};
  if (!sliced.empty())
    read.insert(read.end(), {bounds[0], bounds[1], integers(scope, sliced), bounds[2]});
  std::optional<ValueId> updates =
      sliced.empty() ? std::optional(x) : add(scope, ops::slice_op, read);
  ValueId indices;
  if (!picked.empty()) indices = list(picked, least);
  for (std::size_t k = picked.size(); updates && k-- > 0;) {
    const auto index =
        constant(scope, Tensor::scalar(static_cast<std::int64_t>(
                            chance(70) ? 0 : between(0, static_cast<int>(least) - 1))));
    updates = add(scope, ops::gather_op, {*updates, index}, {{"axis", picked[k]}});
  }
  if (updates && chance(60) && into.dtype != DType::boolean)
    updates = add(scope, ops::neg_op, {*updates});
  if (!updates || chance(20))
    updates = pick(scope, [&](const Type& t) { return t.dtype == into.dtype && t.rank() == 0; });
  if (!updates) return std::nullopt;
  const char* const reduction = into.dtype == DType::boolean ? "none" : one_of(kReductions);
  return add(scope, ops::scatter_slice_op, {x, *updates, indices, bounds[0], bounds[1], bounds[2]},
             {{"axes", sliced}, {"picked", picked}, {"reduction", reduction}});
}

void Maker::add_pick(Scope& scope) {
  const auto x = with_axes(scope);
  if (!x) return;
  const Type from = type(*x);
  const int axis = between(0, from.rank() - 1);
  const auto shaped = pick(scope, [&](const Type& t) { return fits_beside(t, from, axis); });
  if (!shaped) return;
  const ValueId indices = some_indices(scope, type(*shaped), dim(from, axis).value());
  add(scope, ops::gather_elements_op, {*x, indices}, {{"axis", axis}});
}

void Maker::add_tuples(Scope& scope) {
  const auto x = with_axes(scope);
  if (!x) return;
  const Type from = type(*x);
  const int length = between(1, from.rank());
  std::int64_t least = dim(from, 0).value();
  for (int i = 1; i < length; ++i) least = std::min(least, dim(from, i).value());
  Type tuples = Type::of(DType::i64, {});
  const auto outer = pick(scope, [](const Type& t) {
    return t.rank() > 0 && t.rank() < 3 && t.is_static() && elements_of(t) < 64;
  });
  if (outer) tuples.dims = type(*outer).dims;
  tuples.dims.emplace_back(length);
  const ValueId indices = some_indices(scope, tuples, least);
  const auto found = add(scope, ops::gather_nd_op, {*x, indices}, {{"batch_dims", 0}});
  if (!found || chance(50)) return;
  constexpr const char* kReductions[] = {"none", "add", "add", "mul", "max", "min"};
  const char* const reduction = from.dtype == DType::boolean ? "none" : one_of(kReductions);
  add(scope, ops::scatter_nd_op, {*x, indices, *found}, {{"reduction", reduction}});
}

void Maker::add_pad(Scope& scope) {
  constexpr const char* kModes[] = {"constant", "constant", "constant", "edge", "reflect", "wrap"};
  const auto x = with_axes(scope);
  if (!x) return;
  const int rank = type(*x).rank();
  Integers pads(static_cast<std::size_t>(2 * rank), 0);
  for (int axis = 0; axis < rank; ++axis) {
    const auto begin = static_cast<std::size_t>(axis), end = static_cast<std::size_t>(axis + rank);
    if (chance(40)) pads[begin] = between(-1, 3);
    // An axis of one element cannot be cut twice.
    if (chance(40)) pads[end] = between(pads[begin] < 0 ? 0 : -1, 3);
  }
  std::vector<ValueId> inputs = {*x, integers(scope, pads)};
  if (chance(30)) inputs.push_back(constant(scope, some_tensor(type(*x).dtype, {})));
  add(scope, ops::pad_op, std::move(inputs), {{"mode", one_of(kModes)}});
}

}  // namespace scanloom::differential
