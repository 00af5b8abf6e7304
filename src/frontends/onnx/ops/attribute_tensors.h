// Lists that attributes hold, as tensors and numbers. Absent attributes give empty lists.
#pragma once

#include <string_view>
#include <vector>

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

Expected<tensor::Tensor> text_list(NodeCtx& ctx, std::string_view name);
Expected<tensor::Tensor> integer_list(NodeCtx& ctx, std::string_view name);
/// f32.
Expected<tensor::Tensor> real_list(NodeCtx& ctx, std::string_view name);

/// Returns the tensor attribute with that name; undefined if absent.
Expected<tensor::Tensor> tensor_attribute(NodeCtx& ctx, std::string_view name);
/// Returns the numbers of a tensor attribute.
Expected<std::vector<double>> tensor_numbers(NodeCtx& ctx, std::string_view name);
/// Returns the numbers of the attribute `name`, a list, or of `name`_as_tensor. Error: both are
/// present.
Expected<std::vector<double>> numbers_either_way(NodeCtx& ctx, const std::string& name);

/// Error (invalid_model): attribute `name` has another number of entries than wanted.
Expected<void> check_entries(std::string_view name, std::size_t count, std::size_t wanted);

}  // namespace scanloom::onnx
