#include "ops/index/scatter_reduction.h"

namespace scanloom::ops {

Expected<Reduction> check_reduction(std::string_view text, DType dtype) {
  const std::optional<Reduction> reduction = scatter_reduction_of(text);
  if (!reduction)
    return invalid_model("reduction is '{}', not one of none, add, mul, max and min", text);
  const bool compares = *reduction == Reduction::max || *reduction == Reduction::min;
  const DTypeKind kind = dtype_kind(dtype);
  if (*reduction != Reduction::none &&
      (kind == DTypeKind::text || (kind == DTypeKind::complex && compares)))
    return invalid_model("reduction '{}' does not take elements of type {}", text,
                         dtype_name(dtype));
  return *reduction;
}

}  // namespace scanloom::ops
