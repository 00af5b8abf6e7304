#include "api/boxes.h"

#include "tensor/strided_copy.h"

namespace scanloom {
namespace {

std::int64_t offset_of(const tensor::Shape& at, const tensor::Shape& strides) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < at.rank(); ++axis) offset += at[axis] * strides[axis];
  return offset;
}

}  // namespace

void copy_box(DType dtype, const tensor::Shape& box, const BoxAt<const std::byte>& from,
              const BoxAt<std::byte>& to) noexcept {
  const tensor::Shape from_strides = tensor::contiguous_strides(from.shape);
  const tensor::Shape to_strides = tensor::contiguous_strides(to.shape);
  tensor::copy_strided(dtype, box.dims(),
                       tensor::advance(from.data, dtype, offset_of(from.at, from_strides)),
                       from_strides.data(),
                       tensor::advance(to.data, dtype, offset_of(to.at, to_strides)),
                       to_strides.data());
}

tensor::Shape with_size(tensor::Shape shape, int axis, std::int64_t size) {
  shape[axis] = size;
  return shape;
}

tensor::Shape position_on(int rank, int axis, std::int64_t position) {
  tensor::Shape at = tensor::Shape::filled(rank, 0);
  at[axis] = position;
  return at;
}

}  // namespace scanloom
