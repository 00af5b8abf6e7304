#include <scanloom/dtype.h>

namespace scanloom {
namespace {

struct DTypeRow {
  std::string_view name, onnx_name;
  int onnx_number;
};

constexpr DTypeRow kRows[] = {
#define SCANLOOM_DTYPE(name, onnx, number, bits, bytes, kind) {#name, onnx, number},
#include <scanloom/dtypes.inc>
#undef SCANLOOM_DTYPE
};

const DTypeRow& row(DType dtype) { return kRows[static_cast<int>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) noexcept { return row(dtype).name; }
std::string_view dtype_onnx_name(DType dtype) noexcept { return row(dtype).onnx_name; }
int dtype_onnx_number(DType dtype) noexcept { return row(dtype).onnx_number; }

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<DType> dtype_from_onnx_number(std::int64_t number) noexcept {
  if (number <= 0) return std::nullopt;
  for (int i = 0; i < kDTypeCount; ++i)
    if (kRows[i].onnx_number == number) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace scanloom
