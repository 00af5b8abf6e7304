#include "tests/differential/random_module.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ops/ops.h"
#include "tensor/scalar_eval.h"

namespace scanloom::differential {
namespace {

using ir::Dim;
using ir::LoopPorts;
using ir::Module;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::ValueId;
using tensor::Shape;
using tensor::Tensor;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kMostElements = 1024;
constexpr std::int64_t kMostGrowing = 64;
constexpr int kDeepest = 3;

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

/// Sizes that only a run knows are taken as if they were 32.
std::int64_t elements_of(const Type& type) {
  std::int64_t elements = 1;
  for (const Dim dim : type.dims) elements *= dim.is_constant() ? dim.value() : 32;
  return elements;
}

/// Whether numpy's broadcasting takes both.
bool broadcast(const Type& a, const Type& b) {
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const Dim x = a.dims[static_cast<std::size_t>(a.rank() - i)];
    const Dim y = b.dims[static_cast<std::size_t>(b.rank() - i)];
    if (x != y && x != Dim(1) && y != Dim(1)) return false;
  }
  return true;
}

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  Module run() {
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

 private:
  struct Scope {
    RegionId region;
    int depth = 0;
    std::vector<ValueId> values;  ///< of known rank, in the order in which they were made
  };

  // --- chance

  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <class T, std::size_t N>
  T one_of(const T (&items)[N]) {
    return items[between(0, static_cast<int>(N) - 1)];
  }

  // --- values

  [[nodiscard]] const Type& type(ValueId value) const { return module_.value(value).type; }
  static Dim dim(const Type& type, int axis) { return type.dims[static_cast<std::size_t>(axis)]; }

  /// A value that fits, later ones preferred.
  template <class F>
  std::optional<ValueId> pick(const Scope& scope, F&& fits) {
    std::vector<ValueId> found;
    for (const ValueId value : scope.values)
      if (fits(type(value))) found.push_back(value);
    if (found.empty()) return std::nullopt;
    const int last = static_cast<int>(found.size()) - 1;
    return found[static_cast<std::size_t>(std::max(between(0, last), between(0, last)))];
  }

  std::optional<ValueId> any(const Scope& scope) {
    return pick(scope, [](const Type&) { return true; });
  }
  std::optional<ValueId> with_axes(const Scope& scope) {
    return pick(scope,
                [](const Type& t) { return t.rank() > 0 && t.is_static() && elements_of(t) > 0; });
  }

  DType some_dtype() {
    constexpr DType kTypes[] = {DType::f32,  DType::f32, DType::f32, DType::f32,
                                DType::f32,  DType::f64, DType::f64, DType::f16,
                                DType::bf16, DType::i32, DType::i64, DType::boolean};
    return one_of(kTypes);
  }

  Shape some_shape() {
    constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 5, 8, 17, 130};
    Shape shape;
    for (int rank = between(0, 3); rank > 0; --rank) {
      const std::int64_t size = one_of(kSizes);
      shape.push_back(size * shape.elements() <= kMostElements ? size : 1);
    }
    return shape;
  }

  Tensor some_tensor(DType dtype, const Shape& shape) {
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

  Scope make_inputs() {
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

  // --- nodes

  ValueId constant(const Scope& scope, Tensor value) {
    return ir::Builder(module_, scope.region).constant(std::move(value));
  }
  ValueId integers(const Scope& scope, const Integers& numbers) {
    Tensor value = *Tensor::zeros(DType::i64, {static_cast<std::int64_t>(numbers.size())});
    std::ranges::copy(numbers, static_cast<std::int64_t*>(value.mutable_data()));
    return constant(scope, std::move(value));
  }

  /// Adds a node, where the operator takes these operands.
  std::optional<ValueId> add(Scope& scope, const ir::OpDef& op, std::vector<ValueId> inputs,
                             std::vector<ir::NamedAttr> attrs = {}) {
    const auto made =
        ir::Builder(module_, scope.region).op(op, std::move(inputs), std::move(attrs));
    if (!made || !type(*made).ranked) return std::nullopt;
    if (elements_of(type(*made)) <= kMostElements && type(*made).rank() <= 5)
      scope.values.push_back(*made);
    return *made;
  }

  void grow(Scope& scope, int count) {
    for (int i = 0; i < count; ++i) add_something(scope);
  }

  void add_something(Scope& scope) {
    using Step = void (Maker::*)(Scope&);
    constexpr Step kSteps[] = {
        &Maker::add_unary,   &Maker::add_unary,  &Maker::add_unary,   &Maker::add_binary,
        &Maker::add_binary,  &Maker::add_binary, &Maker::add_binary,  &Maker::add_binary,
        &Maker::add_compare, &Maker::add_where,  &Maker::add_cast,    &Maker::add_reduce,
        &Maker::add_reduce,  &Maker::add_reduce, &Maker::add_product, &Maker::add_product,
        &Maker::add_concat,  &Maker::add_slice,  &Maker::add_gather,  &Maker::add_extreme,
        &Maker::add_softmax, &Maker::add_view,   &Maker::add_view,    &Maker::add_cumulative,
        &Maker::add_number,  &Maker::add_branch, &Maker::add_loop,    &Maker::add_power,
        &Maker::add_scatter, &Maker::add_pick,   &Maker::add_levels,  &Maker::add_window,
        &Maker::add_draw,    &Maker::add_places, &Maker::add_tuples,  &Maker::add_pad,
    };
    (this->*one_of(kSteps))(scope);
  }

  void add_unary(Scope& scope) {
    static constexpr const ir::OpDef* kOps[] = {
        &ops::neg_op,   &ops::abs_op, &ops::exp_op,  &ops::log_op,  &ops::sqrt_op, &ops::tanh_op,
        &ops::tanh_op,  &ops::sin_op, &ops::cos_op,  &ops::relu_op, &ops::ceil_op, &ops::sigmoid_op,
        &ops::floor_op, &ops::erf_op, &ops::sign_op, &ops::round_op};
    const auto x = any(scope);
    if (!x) return;
    const bool boolean = type(*x).dtype == DType::boolean;
    add(scope, boolean ? ops::logical_not_op : *one_of(kOps), {*x});
  }

  std::optional<ValueId> partner(const Scope& scope, ValueId a) {
    const Type wanted = type(a);
    return pick(scope, [&](const Type& t) {
      return t.dtype == wanted.dtype && broadcast(t, wanted) &&
             elements_of(t) * elements_of(wanted) <= 64 * kMostElements;
    });
  }

  void add_binary(Scope& scope) {
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

  void add_compare(Scope& scope) {
    static constexpr const ir::OpDef* kOps[] = {&ops::less_op, &ops::less_equal_op, &ops::equal_op};
    const auto a = pick(scope, [](const Type& t) { return t.dtype != DType::boolean; });
    const auto b = a ? partner(scope, *a) : a;
    if (b) add(scope, *one_of(kOps), {*a, *b});
  }

  void add_where(Scope& scope) {
    const auto a = any(scope);
    const auto b = a ? partner(scope, *a) : a;
    if (!b) return;
    const auto condition = pick(scope, [&](const Type& t) {
      return t.dtype == DType::boolean && broadcast(t, type(*a)) && broadcast(t, type(*b));
    });
    if (condition) add(scope, ops::where_op, {*condition, *a, *b});
  }

  void add_cast(Scope& scope) {
    if (const auto x = any(scope)) add(scope, ops::cast_op, {*x}, {{"to", some_dtype()}});
  }

  std::optional<ValueId> reduce(Scope& scope, ValueId x, const char* kind, const Integers& axes,
                                bool keep) {
    return add(scope, ops::reduce_op, {x}, {{"kind", kind}, {"axes", axes}, {"keepdims", keep}});
  }

  void add_reduce(Scope& scope) {
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

  /// Over one axis of each, and sometimes with a common first one.
  void add_product(Scope& scope) {
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
    const auto other =
        axes[static_cast<std::size_t>(between(0, static_cast<int>(axes.size()) - 1))];
    const bool batched = axis > 0 && other > 0 && dim(left, 0) == dim(right, 0) && chance(70);
    std::string first, second, result;
    for (int i = 0; i < left.rank(); ++i) {
      first += static_cast<char>('a' + i);
      if (i != axis) result += first.back();
    }
    for (int i = 0; i < right.rank(); ++i) {
      const bool summed = i == other, shared = batched && i == 0;
      second += summed ? first[static_cast<std::size_t>(axis)]
                       : static_cast<char>(shared ? 'a' : 'n' + i);
      if (!summed && !shared) result += second.back();
    }
    if (elements_of(left) * elements_of(right) > 64 * kMostElements) return;
    add(scope, ops::contract_op, {*a, *b}, {{"spec", first + "," + second + "->" + result}});
  }

  void add_concat(Scope& scope) {
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

  void add_slice(Scope& scope) {
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

  /// By constants, or by the place of an extreme.
  void add_gather(Scope& scope) {
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

  void add_extreme(Scope& scope) {
    const auto x = pick(scope, [](const Type& t) {
      return t.rank() > 0 && t.is_static() && t.dtype != DType::boolean && elements_of(t) > 0;
    });
    if (!x) return;
    add(scope, chance(50) ? ops::argmax_op : ops::argmin_op, {*x},
        {{"axis", between(0, type(*x).rank() - 1)},
         {"keepdims", chance(30)},
         {"select_last_index", chance(30)}});
  }

  void add_softmax(Scope& scope) {
    const auto x = pick(scope, [](const Type& t) { return t.rank() > 0 && is_float(t.dtype); });
    if (x)
      add(scope, chance(50) ? ops::softmax_op : ops::log_softmax_op, {*x},
          {{"axis", between(0, type(*x).rank() - 1)}});
  }

  void add_view(Scope& scope) {
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

  void add_cumulative(Scope& scope) {
    const auto x = pick(scope, [](const Type& t) {
      return t.rank() > 0 && t.is_static() && t.dtype != DType::boolean;
    });
    if (!x) return;
    const auto axis = static_cast<std::int64_t>(between(0, type(*x).rank() - 1));
    add(scope, ops::cumsum_op, {*x, constant(scope, Tensor::scalar(axis))},
        {{"exclusive", chance(30)}, {"reverse", chance(30)}});
  }

  void add_power(Scope& scope) {
    const auto a = pick(scope, [](const Type& t) { return t.dtype != DType::boolean; });
    const auto b = a ? partner(scope, *a) : a;
    if (!b) return;
    if (chance(50))
      add(scope, ops::mod_op, {*a, *b}, {{"fmod", is_float(type(*a).dtype) || chance(50)}});
    else if (is_float(type(*a).dtype))
      add(scope, ops::pow_op, {chance(50) ? *a : add(scope, ops::abs_op, {*a}).value_or(*a), *b});
  }

  /// Indices into `size` elements, some of them counted from the end; of data, where any fit.
  ValueId some_indices(Scope& scope, const Type& like, std::int64_t size) {
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

  /// Whether `part` fits into `whole` but for one axis.
  static bool fits_beside(const Type& part, const Type& whole, int axis) {
    if (part.rank() != whole.rank() || !part.is_static()) return false;
    for (int i = 0; i < part.rank(); ++i)
      if (i != axis && dim(part, i).value() > dim(whole, i).value()) return false;
    return true;
  }

  void add_scatter(Scope& scope) {
    if (const auto x = with_axes(scope)) scattered(scope, *x);
  }

  /// The value with others scattered into it, if any fit.
  std::optional<ValueId> scattered(Scope& scope, ValueId x) {
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

  void add_pick(Scope& scope) {
    const auto x = with_axes(scope);
    if (!x) return;
    const Type from = type(*x);
    const int axis = between(0, from.rank() - 1);
    const auto shaped = pick(scope, [&](const Type& t) { return fits_beside(t, from, axis); });
    if (!shaped) return;
    const ValueId indices = some_indices(scope, type(*shaped), dim(from, axis).value());
    add(scope, ops::gather_elements_op, {*x, indices}, {{"axis", axis}});
  }

  /// Tuples of indices along the last axis.
  void add_tuples(Scope& scope) {
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

  /// Around some axes, or cut from them.
  void add_pad(Scope& scope) {
    constexpr const char* kModes[] = {"constant", "constant", "constant",
                                      "edge",     "reflect",  "wrap"};
    const auto x = with_axes(scope);
    if (!x) return;
    const int rank = type(*x).rank();
    Integers pads(static_cast<std::size_t>(2 * rank), 0);
    for (int axis = 0; axis < rank; ++axis) {
      const auto begin = static_cast<std::size_t>(axis),
                 end = static_cast<std::size_t>(axis + rank);
      if (chance(40)) pads[begin] = between(-1, 3);
      // An axis of one element cannot be cut twice.
      if (chance(40)) pads[end] = between(pads[begin] < 0 ? 0 : -1, 3);
    }
    std::vector<ValueId> inputs = {*x, integers(scope, pads)};
    if (chance(30)) inputs.push_back(constant(scope, some_tensor(type(*x).dtype, {})));
    add(scope, ops::pad_op, std::move(inputs), {{"mode", one_of(kModes)}});
  }

  /// Quantized and, mostly, back again.
  void add_levels(Scope& scope) {
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

  /// A convolution or a pool along the last axis.
  void add_window(Scope& scope) {
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

  /// The sum of the places of what is not zero, whose number only the run knows: no machine code.
  void add_places(Scope& scope) {
    const auto x = pick(scope, [](const Type& t) { return t.rank() > 0 && t.is_static(); });
    const auto places = x ? add(scope, ops::non_zero_op, {*x}) : std::nullopt;
    if (places) reduce(scope, *places, "sum", {0, 1}, false);
  }

  /// Numbers by a key, which may depend on the step.
  void add_draw(Scope& scope) {
    const auto x = pick(scope, [](const Type& t) { return t.dtype == DType::i64; });
    Tensor words = *Tensor::zeros(DType::u64, {2});
    static_cast<std::uint64_t*>(words.mutable_data())[0] = random_();
    ValueId key = constant(scope, std::move(words));
    if (x && chance(70))
      if (const auto number = summary(scope, DType::i64))
        if (const auto word = add(scope, ops::cast_op, {*number}, {{"to", DType::u64}}))
          key = add(scope, ops::add_op, {key, *word}).value_or(key);
    add(scope, ops::draw_op, {key, integers(scope, {between(1, 40)})},
        {{"kind", chance(50) ? "uniform" : "normal"},
         {"to", chance(70) ? DType::f32 : DType::f64}});
  }

  void add_number(Scope& scope) {
    scope.values.push_back(constant(scope, some_tensor(some_dtype(), some_shape())));
  }

  // --- values of a wanted type

  /// One element that depends on a value of that dtype, if there is one.
  std::optional<ValueId> summary(Scope& scope, DType dtype) {
    const auto x =
        pick(scope, [&](const Type& t) { return t.dtype == dtype && dtype != DType::boolean; });
    if (!x || type(*x).rank() == 0) return x;
    Integers axes;
    for (int axis = 0; axis < type(*x).rank(); ++axis) axes.push_back(axis);
    return reduce(scope, *x, chance(50) ? "max" : "mean", axes, false);
  }

  /// Precondition: `base` has the type.
  ValueId like(Scope& scope, ValueId base) {
    const Type wanted = type(base);
    const auto same = pick(
        scope, [&](const Type& t) { return t.dtype == wanted.dtype && t.dims == wanted.dims; });
    if (same && *same != base && chance(60)) return *same;
    if (wanted.dtype == DType::boolean)
      return add(scope, ops::logical_not_op, {same.value_or(base)}).value_or(base);
    if (chance(10))
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

  /// By a value or, where there is one that only the run knows, by a size.
  ValueId condition(Scope& scope) {
    const auto grown = pick(scope, [](const Type& t) { return t.rank() > 0 && !t.is_static(); });
    if (grown && chance(30)) {
      const auto size =
          add(scope, ops::dim_op, {*grown}, {{"axis", between(0, type(*grown).rank() - 1)}});
      const ValueId limit =
          constant(scope, Tensor::scalar(static_cast<std::int64_t>(between(0, 6))));
      if (size)
        if (const auto made = add(scope, ops::less_op, {*size, limit})) return *made;
    }
    if (const auto x = summary(scope, chance(70) ? DType::f32 : DType::i64)) {
      const ValueId limit = constant(scope, some_tensor(type(*x).dtype, {}));
      if (const auto made = add(scope, ops::less_op, {*x, limit})) return *made;
    }
    return constant(scope, Tensor::scalar(chance(70)));
  }

  /// A trip count that data decide, perhaps below 0.
  ValueId decided_count(Scope& scope) {
    const auto some = [&](int least, int most) {
      return constant(scope, Tensor::scalar(static_cast<std::int64_t>(between(least, most))));
    };
    const ValueId many = some(1, 6), few = some(-1, 2);
    return *add(scope, ops::where_op, {condition(scope), many, few});
  }

  /// The state with something behind it, or before it, if anything fits.
  ValueId grown(Scope& scope, ValueId state, int axis) {
    const Type wanted = type(state);
    const auto part = pick(scope, [&](Type t) {
      if (t.dtype != wanted.dtype || t.rank() != wanted.rank() || !t.is_static()) return false;
      if (elements_of(t) > kMostGrowing) return false;
      t.dims[static_cast<std::size_t>(axis)] = dim(wanted, axis);
      return t.dims == wanted.dims;
    });
    if (!part) return state;
    std::vector<ValueId> parts = {state, *part};
    if (chance(20)) std::ranges::reverse(parts);
    return add(scope, ops::concat_op, parts, {{"axis", axis}}).value_or(state);
  }

  // --- regions

  /// Some values of the scope, different ones, now and then such as have sizes of a run.
  std::vector<ValueId> some(const Scope& scope, int count) {
    std::vector<ValueId> chosen = scope.values;
    const bool any = chance(35);
    std::erase_if(chosen, [&](ValueId value) { return !any && !type(value).is_static(); });
    std::ranges::shuffle(chosen, random_);
    chosen.resize(std::min(chosen.size(), static_cast<std::size_t>(count)));
    return chosen;
  }

  Scope open(const Scope& outer, NodeId owner, const std::vector<Type>& arguments) {
    Scope scope{module_.add_region(owner), outer.depth + 1};
    module_.node(owner).regions.push_back(scope.region);
    for (const Type& argument : arguments)
      scope.values.push_back(module_.add_argument(scope.region, argument));
    return scope;
  }

  std::vector<Type> types_of(const std::vector<ValueId>& values) const {
    std::vector<Type> types;
    for (const ValueId value : values) types.push_back(type(value));
    return types;
  }

  void add_branch(Scope& scope) {
    if (scope.depth >= kDeepest) return;
    const std::vector<ValueId> captured = some(scope, between(1, 4));
    if (captured.empty()) return;
    const std::size_t results =
        static_cast<std::size_t>(between(1, static_cast<int>(captured.size())));
    std::vector<ValueId> inputs = {condition(scope)};
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    const std::vector<Type> types = types_of(captured);
    const NodeId branch = module_.add_node(
        scope.region, ir::branch_op, std::move(inputs), {},
        std::vector<Type>(types.begin(), types.begin() + static_cast<std::ptrdiff_t>(results)));
    for (int side = 0; side < 2; ++side) {
      Scope inner = open(scope, branch, types);
      const std::vector<ValueId> arguments = inner.values;
      grow(inner, between(0, 4));
      std::vector<ValueId> yields;
      for (std::size_t i = 0; i < results; ++i) yields.push_back(like(inner, arguments[i]));
      module_.region(inner.region).yields = std::move(yields);
    }
    for (const ValueId output : module_.node(branch).outputs) scope.values.push_back(output);
  }

  /// Sequences of equal length, each with the axis of its steps.
  std::vector<std::pair<ValueId, int>> some_sequences(const Scope& scope,
                                                      std::optional<Dim> steps) {
    std::vector<std::pair<ValueId, int>> sequences;
    for (int i = between(0, 2); i > 0; --i) {
      const auto fits = [&](Dim size) { return steps ? size == *steps : true; };
      const auto x = pick(scope, [&](const Type& t) { return std::ranges::any_of(t.dims, fits); });
      if (!x) continue;
      std::vector<int> axes;
      for (int axis = 0; axis < type(*x).rank(); ++axis)
        if (fits(dim(type(*x), axis))) axes.push_back(axis);
      std::ranges::shuffle(axes, random_);
      Type slice = type(*x);
      slice.dims.erase(slice.dims.begin() + axes[0]);
      if (!slice.is_static()) continue;
      if (!steps) steps = dim(type(*x), axes[0]);
      sequences.emplace_back(*x, axes[0]);
    }
    return sequences;
  }

  void add_loop(Scope& scope) {
    if (scope.depth >= kDeepest) return;
    LoopPorts ports;
    std::vector<ValueId> inputs;
    std::optional<Dim> steps;
    if (scope.depth == 0 && chance(40)) {
      inputs.push_back(steps_);
      steps = module_.dims.symbol("T");
    } else if (chance(60)) {
      const auto count = static_cast<std::int64_t>(between(0, 6));
      inputs.push_back(constant(scope, Tensor::scalar(count)));
      steps = Dim(count);
    } else if (scope.depth > 0 && chance(40)) {
      inputs.push_back(decided_count(scope));
    }
    ports.has_trip_count = !inputs.empty();
    std::vector<std::pair<ValueId, int>> sequences;
    if (steps || inputs.empty()) sequences = some_sequences(scope, steps);
    if (inputs.empty() && sequences.empty()) return;
    if (inputs.empty()) steps = dim(type(sequences[0].first), sequences[0].second);
    if (chance(15)) {
      ports.has_condition = true;
      inputs.push_back(condition(scope));
    }
    const std::vector<ValueId> captured = some(scope, between(0, 3));
    const std::vector<ValueId> states = some(scope, between(0, 3));
    std::vector<Type> arguments = types_of(captured);
    std::vector<int> growing_axes;  // by state; -1: it keeps its sizes
    for (std::size_t i = 0; i < states.size(); ++i) {
      arguments.push_back(type(states[i]));
      growing_axes.push_back(-1);
      // Inner loops would take very long over what outer ones have grown.
      const bool small = scope.depth == 0 && elements_of(arguments.back()) <= kMostGrowing;
      if (captured.empty() || arguments.back().rank() == 0 || !small || !chance(30)) continue;
      growing_axes.back() = between(0, arguments.back().rank() - 1);
      arguments.back().dims[static_cast<std::size_t>(growing_axes.back())] = module_.dims.fresh();
    }
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    inputs.insert(inputs.end(), states.begin(), states.end());
    for (const auto& [sequence, axis] : sequences) {
      inputs.push_back(sequence);
      arguments.push_back(type(sequence));
      arguments.back().dims.erase(arguments.back().dims.begin() + axis);
      const bool back = chance(30);
      ports.scanned.push_back({.axis = axis, .start = back ? -1 : 0, .stride = back ? -1 : 1});
    }
    ports.captured = static_cast<std::uint32_t>(captured.size());
    ports.carried = static_cast<std::uint32_t>(states.size());
    std::vector<Type> results(arguments.begin() + ports.captured,
                              arguments.begin() + ports.captured + ports.carried);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (growing_axes[i] >= 0)
        results[i].dims[static_cast<std::size_t>(growing_axes[i])] = module_.dims.fresh();
    const NodeId loop = module_.add_node(scope.region, ir::loop_op, std::move(inputs), {}, results);
    Scope body = open(scope, loop, arguments);
    fill(body, loop, ports, steps, growing_axes);
    for (const ValueId output : module_.node(loop).outputs)
      if (elements_of(type(output)) <= kMostElements) scope.values.push_back(output);
  }

  /// The body of a loop, its yields and its further ports. `steps`: none where only data tell.
  void fill(Scope& body, NodeId loop, LoopPorts& ports, std::optional<Dim> steps,
            const std::vector<int>& growing_axes) {
    const std::vector<ValueId> arguments = body.values;
    grow(body, between(1, 9));
    std::vector<ValueId> yields;
    if (chance(20)) {
      ports.has_keep_going = true;
      yields.push_back(condition(body));
    }
    for (std::uint32_t i = 0; i < ports.carried; ++i) {
      const ValueId state = arguments[ports.captured + i];
      yields.push_back(growing_axes[i] < 0 ? like(body, state)
                                           : grown(body, state, growing_axes[i]));
    }
    const bool counted = steps && !ports.has_keep_going && !ports.has_condition;
    for (const ValueId row : some(body, between(ports.carried == 0 ? 1 : 0, 3))) {
      Type stacked = type(row);
      const bool insert = stacked.rank() == 0 || chance(90);
      const int axis = between(0, stacked.rank() - (insert ? 0 : 1));
      const Dim rows = counted && insert ? *steps : module_.dims.fresh();
      if (insert) stacked.dims.insert(stacked.dims.begin() + axis, rows);
      stacked.dims[static_cast<std::size_t>(axis)] = rows;
      ports.stacked.push_back({.axis = axis, .reverse = chance(25), .insert = insert});
      module_.add_output(loop, std::move(stacked));
      yields.push_back(row);
    }
    module_.region(body.region).yields = std::move(yields);
    module_.node(loop).loop = ports;
  }

  Module module_;
  std::mt19937_64 random_;
  ValueId steps_;
};

}  // namespace

ir::Module random_module(std::uint64_t seed) {
  ir::Module module = Maker(seed).run();
  const auto inferred = ir::infer_types(module);
  EXPECT_TRUE(inferred) << "seed " << seed << ": " << inferred.error().text() << ir::print(module);
  if (!inferred) return {};
  const auto sound = ir::verify(module);
  EXPECT_TRUE(sound) << "seed " << seed << ": " << sound.error().text();
  return module;
}

}  // namespace scanloom::differential
