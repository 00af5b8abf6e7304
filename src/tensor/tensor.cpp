#include "tensor/tensor.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "base/mapped_file.h"
#include "base/own_pages.h"

namespace scanloom::tensor {
namespace {

constexpr std::size_t kAlign = 64;

struct FreeAligned {
  void operator()(const void* data) const {
    ::operator delete(const_cast<void*>(data), std::align_val_t{kAlign});
  }
};

Error out_of_memory(std::size_t bytes) {
  return fail(Code::out_of_memory, "out of memory: cannot allocate {} bytes", bytes);
}

/// Zeroed bytes, padded to whole cache lines, so that kernels may read whole vectors.
Expected<std::shared_ptr<const void>> allocate(std::size_t bytes) {
  const std::size_t padded = bytes == 0 ? kAlign : (bytes + kAlign - 1) / kAlign * kAlign;
  // The system's pages are zero already, and what grows from step to step would leave the heap full
  // of holes.
  if (padded >= kMinOwnPages) {
    auto pages = own_pages(padded);
    if (pages == nullptr) return out_of_memory(padded);
    return pages;
  }
  void* data = ::operator new(padded, std::align_val_t{kAlign}, std::nothrow);
  if (data == nullptr) return out_of_memory(padded);
  std::memset(data, 0, padded);
  return std::shared_ptr<const void>(data, FreeAligned{});
}

Expected<std::size_t> count_elements(const Shape& shape) {
  const auto count = shape.checked_elements();
  if (!count)
    return fail(Code::invalid_argument,
                "a tensor of shape {} has a negative size or over 2^40 elements",
                shape.to_string());
  return static_cast<std::size_t>(*count);
}

/// The StringRefs of `count` strings, followed by their bytes; text(i) is the i-th.
template <class Text>
Expected<Tensor> store_strings(const Shape& shape, std::size_t count, const Text& text) {
  std::size_t bytes = count * sizeof(StringRef);
  for (std::size_t i = 0; i < count; ++i) bytes += text(i).size();
  SCANLOOM_TRY(auto storage, allocate(bytes));
  auto* refs = static_cast<StringRef*>(const_cast<void*>(storage.get()));
  char* next = reinterpret_cast<char*>(refs + count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view view = text(i);
    refs[i] = {next, static_cast<std::int64_t>(view.size())};
    if (!view.empty()) std::memcpy(next, view.data(), view.size());
    next += view.size();
  }
  return Tensor(DType::string, shape, std::move(storage), refs);
}

template <class T>
void widen(const Tensor& tensor, std::vector<std::int64_t>& out) {
  for (const T value : tensor.as<T>()) out.push_back(static_cast<std::int64_t>(value));
}

}  // namespace

struct Tensor::Unaligned {
  std::shared_ptr<const void> owner;
  const void* bytes = nullptr;
  std::size_t size = 0;
  mutable std::mutex mutex;
  mutable std::shared_ptr<const void> copy;         // guarded by mutex
  mutable std::atomic<const void*> data = nullptr;  // of the copy
};

Tensor Tensor::at_any_address(DType dtype, const Shape& shape, std::shared_ptr<const void> owner,
                              const void* bytes) {
  auto unaligned = std::make_shared<Unaligned>();
  unaligned->owner = std::move(owner);
  unaligned->bytes = bytes;
  Tensor tensor(dtype, shape, unaligned, nullptr);
  unaligned->size = tensor.bytes();
  tensor.unaligned_ = unaligned.get();
  return tensor;
}

const void* Tensor::stored_bytes() const { return unaligned_->bytes; }

const void* Tensor::aligned_copy(const Unaligned& unaligned) {
  if (const void* const made = unaligned.data.load(std::memory_order_acquire)) return made;
  const std::scoped_lock lock(unaligned.mutex);
  if (unaligned.copy == nullptr) {
    Expected<std::shared_ptr<const void>> copy = allocate(unaligned.size);
    if (!copy) throw std::bad_alloc();
    std::memcpy(const_cast<void*>(copy->get()), unaligned.bytes, unaligned.size);
    release_file_pages(unaligned.bytes, unaligned.size);
    unaligned.copy = *std::move(copy);
    unaligned.data.store(unaligned.copy.get(), std::memory_order_release);
  }
  return unaligned.copy.get();
}

Expected<Tensor> Tensor::zeros(DType dtype, const Shape& shape) {
  SCANLOOM_TRY(const std::size_t count, count_elements(shape));
  SCANLOOM_TRY(auto storage, allocate(count * dtype_bytes(dtype)));
  const void* data = storage.get();
  return Tensor(dtype, shape, std::move(storage), data);
}

Expected<Tensor> Tensor::copy_of(DType dtype, const Shape& shape, const void* data) {
  SCANLOOM_TRY(const std::size_t count, count_elements(shape));
  if (dtype == DType::string) {
    const auto* refs = static_cast<const StringRef*>(data);
    return store_strings(shape, count, [refs](std::size_t i) { return refs[i].view(); });
  }
  SCANLOOM_TRY(Tensor tensor, zeros(dtype, shape));
  if (count > 0) std::memcpy(tensor.mutable_data(), data, count * dtype_bytes(dtype));
  return tensor;
}

Expected<Tensor> Tensor::of_strings(const Shape& shape, std::span<const std::string> values) {
  SCANLOOM_TRY(const std::size_t count, count_elements(shape));
  if (count != values.size())
    return fail(Code::invalid_argument, "shape {} has {} elements, but {} strings are given",
                shape.to_string(), count, values.size());
  return store_strings(shape, count,
                       [values](std::size_t i) { return std::string_view(values[i]); });
}

Expected<Tensor> with_own_strings(Tensor tensor) {
  if (tensor.dtype() != DType::string) return tensor;
  // One block where that is small, since a sequence may hold many such tensors.
  if (bytes_with_text(tensor) < static_cast<std::int64_t>(kMinOwnPages))
    return Tensor::copy_of(DType::string, tensor.shape(), tensor.data());
  SCANLOOM_TRY(auto texts, allocate(static_cast<std::size_t>(text_bytes(tensor))));
  char* next = static_cast<char*>(const_cast<void*>(texts.get()));
  auto* const refs = static_cast<StringRef*>(tensor.mutable_data());
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const std::int64_t size = refs[i].size;
    if (size > 0) std::memcpy(next, refs[i].data, static_cast<std::size_t>(size));
    refs[i].data = next;
    next += size;
  }
  using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  auto owner = std::make_shared<const Both>(tensor.owner(), std::move(texts));
  return Tensor(DType::string, tensor.shape(), std::move(owner), refs);
}

std::int64_t text_bytes(const Tensor& tensor) {
  if (tensor.dtype() != DType::string) return 0;
  std::int64_t bytes = 0;
  for (const StringRef& element : tensor.as<StringRef>()) bytes += element.size;
  return bytes;
}

std::int64_t bytes_with_text(const Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.bytes()) + text_bytes(tensor);
}

bool identical(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (!a.defined() || a.stored() == b.stored() || a.elements() == 0) return true;
  if (a.dtype() != DType::string) return std::memcmp(a.stored(), b.stored(), a.bytes()) == 0;
  const auto left = a.as<StringRef>();
  const auto right = b.as<StringRef>();
  for (std::size_t i = 0; i < left.size(); ++i)
    if (left[i].view() != right[i].view()) return false;
  return true;
}

std::optional<std::vector<std::int64_t>> to_integers(const Tensor& tensor) {
  if (!tensor.defined()) return std::nullopt;
  const DType dtype = tensor.dtype();
  const bool boolean = dtype == DType::boolean;
  if (!boolean && !is_integer(dtype)) return std::nullopt;
  const bool is_signed = dtype_kind(dtype) == DTypeKind::signed_int;
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(tensor.elements()));
  switch (dtype_bytes(dtype)) {
    case 1:
      is_signed ? widen<std::int8_t>(tensor, values) : widen<std::uint8_t>(tensor, values);
      break;
    case 2:
      is_signed ? widen<std::int16_t>(tensor, values) : widen<std::uint16_t>(tensor, values);
      break;
    case 4:
      is_signed ? widen<std::int32_t>(tensor, values) : widen<std::uint32_t>(tensor, values);
      break;
    default:
      widen<std::int64_t>(tensor, values);
      break;
  }
  return values;
}

}  // namespace scanloom::tensor
