#include "ir/infer_ctx.h"

#include <algorithm>

#include "tensor/axis_words.h"
#include "tensor/shape.h"

namespace scanloom::ir {
namespace {

using tensor::Dim;
using tensor::DimTable;
using tensor::Tensor;
using tensor::Type;

/// The limit of elements of a tensor tracked as sizes.
constexpr std::int64_t kMaxTracked = 4096;

/// The size of axis `axis` of a result of `rank` axes, aligned at the end; 1 if `type` lacks it.
Dim aligned(const Type& type, int axis, int rank) {
  const int own = axis - (rank - type.rank());
  return own < 0 ? Dim(1) : type.dims[static_cast<std::size_t>(own)];
}

}  // namespace

InferCtx::InferCtx(std::span<const Type* const> types, std::span<const Known* const> known,
                   std::span<const tensor::Attr> attrs, std::size_t output_count, DimTable& dims)
    : types_(types),
      known_(known),
      attrs_(attrs),
      dims_(dims),
      outputs_(output_count),
      output_integers_(output_count) {}

const Known* InferCtx::ask(int i) const {
  if (!has(i)) return nullptr;
  values_asked_ |= value_bit(at(i));
  return known_[at(i)];
}

const Tensor* InferCtx::constant(int i) const {
  const Known* const known = ask(i);
  return known != nullptr && known->tensor ? &*known->tensor : nullptr;
}

std::optional<std::vector<Dim>> InferCtx::integers(int i) const {
  const Known* const known = ask(i);
  if (known == nullptr) return std::nullopt;
  if (known->integers) return known->integers;
  const Tensor* tensor = constant(i);
  if (tensor == nullptr || tensor->shape().rank() > 1 || tensor->elements() > kMaxTracked)
    return std::nullopt;
  const auto numbers = to_integers(*tensor);
  if (!numbers) return std::nullopt;
  return std::vector<Dim>(numbers->begin(), numbers->end());
}

std::optional<std::vector<std::int64_t>> InferCtx::numbers(int i) const {
  const auto sizes = integers(i);
  if (!sizes) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Dim size : *sizes) {
    if (!size.is_constant()) return std::nullopt;
    values.push_back(size.value());
  }
  return values;
}

Type InferCtx::fresh(DType dtype, int rank) {
  Type type = Type::scalar(dtype);
  for (int axis = 0; axis < rank; ++axis) type.dims.push_back(dims_.fresh());
  return type;
}

Expected<Type> InferCtx::broadcast(const Type& a, const Type& b, DType dtype) {
  if (!a.ranked || !b.ranked) return Type::unranked(dtype);
  const int rank = std::max(a.rank(), b.rank());
  Type result = Type::scalar(dtype);
  for (int axis = 0; axis < rank; ++axis) {
    const Dim of_a = aligned(a, axis, rank);
    const Dim of_b = aligned(b, axis, rank);
    const bool numbers = of_a.is_constant() && of_b.is_constant();
    if (of_a == of_b || of_b == Dim(1))
      result.dims.push_back(of_a);
    else if (of_a == Dim(1))
      result.dims.push_back(of_b);
    else if (numbers)
      return invalid_model("{} and {} do not broadcast: sizes {} and {} on axis {} of the result",
                           to_string(a, dims_), to_string(b, dims_), of_a.value(), of_b.value(),
                           axis);
    else if (of_a.is_constant() || of_b.is_constant())
      result.dims.push_back(of_a.is_constant() ? of_a : of_b);  // the other is equal, or 1
    else
      result.dims.push_back(dims_.fresh());
  }
  return result;
}

Expected<int> InferCtx::axis(std::int64_t axis, int rank) const {
  const auto normalised = tensor::normalise_axis(axis, rank);
  if (!normalised)
    return invalid_model("axis {} {} {}", axis, rank == 0 ? "is given," : "is",
                         tensor::outside_axes(rank));
  return *normalised;
}

}  // namespace scanloom::ir
