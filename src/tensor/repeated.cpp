#include "tensor/repeated.h"

#include <utility>

#include "base/own_pages.h"
#include "base/repeated_pages.h"

namespace scanloom::tensor {

std::optional<Tensor> repeated(DType dtype, const Shape& shape, const std::byte* element) {
  constexpr std::size_t kPadding = 64;  // kernels may read whole vectors
  const std::size_t size = dtype_bytes(dtype);
  const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * size;
  if (bytes < kMinOwnPages) return std::nullopt;
  auto pages = repeated_pages({element, size}, bytes + kPadding);
  if (pages == nullptr) return std::nullopt;
  const void* const data = pages.get();
  return Tensor(dtype, shape, std::move(pages), data);
}

}  // namespace scanloom::tensor
