// What the operators over sequences and optionals share: types with one wrap more or less, and
// reading positions.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/infer_ctx.h"
#include "tensor/object_call.h"

namespace scanloom::ops {

/// A sequence or optional of values of that type. Error: more than Type::kMaxWraps wraps.
Expected<tensor::Type> wrapped(const tensor::Type& item, tensor::Wrap wrap,
                               const tensor::DimTable& dims);

/// What is in a sequence or optional. Precondition: it is one.
tensor::Type item_type(const tensor::Type& type);

/// One item of a sequence: sizes that are no numbers may differ from item to item, so that they
/// become fresh.
tensor::Type any_item(ir::InferCtx& ctx, const tensor::Type& sequence);

/// What holds both the items of a sequence and one more of that type. Error: other kinds of values;
/// `what` names the second one.
Expected<tensor::Type> item_of_both(ir::InferCtx& ctx, const tensor::Type& items,
                                    const tensor::Type& item, std::string_view what);

/// The one integer of an i32 or i64 tensor. Error: another number of elements; `what` names it.
Expected<std::int64_t> single_integer(const tensor::Tensor& tensor, std::string_view what);

/// Input i, the position in a sequence of `count` items, or of `count` places for one; absent:
/// `fallback`. Error: it is outside.
Expected<std::size_t> position(const tensor::ObjectCall& call, std::size_t i, std::size_t count,
                               std::size_t fallback);

/// Sets output i to a scalar.
template <class T>
Expected<void> give_scalar(const tensor::ObjectCall& call, std::size_t i, T value) {
  return call.give(i, tensor::Tensor::scalar<T>(value));
}

}  // namespace scanloom::ops
