// Shared by the operators on sequences and optionals: adding and removing a wrap of a type, and
// reading positions.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/infer_ctx.h"
#include "tensor/object_call.h"

namespace scanloom::ops {

/// Returns a sequence or optional of that type. Error: more than Type::kMaxWraps wraps.
Expected<tensor::Type> wrapped(const tensor::Type& item, tensor::Wrap wrap,
                               const tensor::DimTable& dims);

/// Returns the item type of a sequence or optional. Precondition: it is one.
tensor::Type item_type(const tensor::Type& type);

/// Returns the type of one item of a sequence. Sizes that are not numbers may differ between items,
/// so they become fresh.
tensor::Type any_item(ir::InferCtx& ctx, const tensor::Type& sequence);

/// Returns a type for both the items of a sequence and another item. Error: different kinds of
/// values; `what` names the other item.
Expected<tensor::Type> item_of_both(ir::InferCtx& ctx, const tensor::Type& items,
                                    const tensor::Type& item, std::string_view what);

/// Returns the only integer of an i32 or i64 tensor. Error: not one element; `what` names it.
Expected<std::int64_t> single_integer(const tensor::Tensor& tensor, std::string_view what);

/// Returns input i, a position in a sequence of `count` items or insertion points; `fallback` if
/// absent. Error: out of range.
Expected<std::size_t> position(const tensor::ObjectCall& call, std::size_t i, std::size_t count,
                               std::size_t fallback);

/// Sets output i to a scalar.
template <class T>
Expected<void> give_scalar(const tensor::ObjectCall& call, std::size_t i, T value) {
  return call.give(i, tensor::Tensor::scalar<T>(value));
}

}  // namespace scanloom::ops
