#include "dlpack.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <optional>
#include <vector>

#include <scanloom/dtype.h>

#include "errors.h"
#include "text.h"

namespace scanloom::python {
namespace {

/// Element types by DLPack code (version 1.1; older headers lack some of them).
struct Element {
  DType dtype;
  std::uint8_t code, bits;
};
constexpr Element kElements[] = {
    {DType::boolean, 6, 8},     {DType::i8, 0, 8},          {DType::i16, 0, 16},
    {DType::i32, 0, 32},        {DType::i64, 0, 64},        {DType::u8, 1, 8},
    {DType::u16, 1, 16},        {DType::u32, 1, 32},        {DType::u64, 1, 64},
    {DType::f16, 2, 16},        {DType::f32, 2, 32},        {DType::f64, 2, 64},
    {DType::c64, 5, 64},        {DType::c128, 5, 128},      {DType::bf16, 4, 16},
    {DType::f8e4m3fn, 10, 8},   {DType::f8e4m3fnuz, 11, 8}, {DType::f8e5m2, 12, 8},
    {DType::f8e5m2fnuz, 13, 8}, {DType::f8e8m0, 14, 8},
};
constexpr std::uint8_t kUnsigned = 1, kBfloat = 4, kFirstSmallFloat = 7;

std::optional<DType> dtype_of_element(nb::dlpack::dtype type) {
  for (const Element& element : kElements)
    if (element.code == type.code && element.bits == type.bits && type.lanes == 1)
      return element.dtype;
  return std::nullopt;
}

/// Returns the type of the numpy array: the type itself, or unsigned integers of the same size.
nb::dlpack::dtype plain(nb::dlpack::dtype type) {
  if (type.code == kBfloat || type.code >= kFirstSmallFloat) type.code = kUnsigned;
  return type;
}

/// Returns a numpy array that shares and keeps alive the memory of the tensor.
template <class Tensor, class Array>
nb::object array_over(Tensor tensor) {
  std::vector<std::size_t> shape;
  std::vector<std::int64_t> strides;
  for (std::size_t axis = 0; axis < tensor.ndim(); ++axis) {
    shape.push_back(tensor.shape(axis));
    strides.push_back(tensor.stride(axis));
  }
  auto* const kept = new Tensor(std::move(tensor));
  const nb::capsule owner(kept, [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  return Array(kept->data(), shape.size(), shape.data(), owner, strides.data(),
               plain(kept->dtype()))
      .cast();
}

template <class Tensor, class Array>
nb::tuple import_tensor(Tensor tensor) {
  if (tensor.device_type() != nb::device::cpu::value)
    raise(Error(Code::unsupported, "the tensor is not on the CPU: copy it there first"));
  const std::optional<DType> dtype = dtype_of_element(tensor.dtype());
  if (!dtype)
    raise(Error(Code::unsupported, "DLPack's type " + std::to_string(tensor.dtype().code) + " of " +
                                       std::to_string(tensor.dtype().bits) +
                                       " bits is not a supported element type"));
  return nb::make_tuple(array_over<Tensor, Array>(std::move(tensor)),
                        text(dtype_onnx_name(*dtype)));
}

}  // namespace

nb::tuple from_dlpack(nb::handle source) {
  nb::ndarray<> tensor;
  if (nb::try_cast(source, tensor))
    return import_tensor<nb::ndarray<>, nb::ndarray<nb::numpy>>(std::move(tensor));
  nb::ndarray<nb::ro> constant;
  if (nb::try_cast(source, constant))
    return import_tensor<nb::ndarray<nb::ro>, nb::ndarray<nb::numpy, nb::ro>>(std::move(constant));
  raise(Error(Code::invalid_argument, "it does not provide a tensor through DLPack"));
}

nb::object to_dlpack(nb::handle bits, const std::string& onnx_name) {
  const auto element =
      std::find_if(std::begin(kElements), std::end(kElements),
                   [&](const Element& known) { return dtype_onnx_name(known.dtype) == onnx_name; });
  nb::ndarray<> array;
  if (element == std::end(kElements) || !nb::try_cast(bits, array))
    raise(Error(Code::unsupported, "DLPack cannot represent elements of type " + onnx_name));
  std::vector<std::size_t> shape;
  std::vector<std::int64_t> strides;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    shape.push_back(array.shape(axis));
    strides.push_back(array.stride(axis));
  }
  const nb::object tensor = nb::ndarray<>(array.data(), shape.size(), shape.data(), bits,
                                          strides.data(), {element->code, element->bits, 1})
                                .cast();
  return nb::hasattr(tensor, "__dlpack__") ? nb::object(tensor.attr("__dlpack__")()) : tensor;
}

}  // namespace scanloom::python
