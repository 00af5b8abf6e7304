#include "tensor/openvino_dtype.h"

#include "base/ascii.h"

namespace scanloom::tensor {
namespace {

struct OpenvinoRow {
  DType dtype;
  OpenvinoDtype words;
};

constexpr OpenvinoRow kOpenvinoRows[] = {
    {DType::f32, {"f32", "FP32"}},
    {DType::f16, {"f16", "FP16"}},
    {DType::f64, {"f64", "FP64"}},
    {DType::bf16, {"bf16", "BF16"}},
    {DType::boolean, {"boolean", "BOOL"}},
    {DType::i4, {"i4", "I4"}},
    {DType::i8, {"i8", "I8"}},
    {DType::i16, {"i16", "I16"}},
    {DType::i32, {"i32", "I32"}},
    {DType::i64, {"i64", "I64"}},
    {DType::u1, {"u1", "BIN"}},
    {DType::u2, {"u2", "U2"}},
    {DType::u3, {"u3", "U3"}},
    {DType::u4, {"u4", "U4"}},
    {DType::u6, {"u6", "U6"}},
    {DType::u8, {"u8", "U8"}},
    {DType::u16, {"u16", "U16"}},
    {DType::u32, {"u32", "U32"}},
    {DType::u64, {"u64", "U64"}},
    {DType::nf4, {"nf4", "NF4"}},
    {DType::f8e4m3fn, {"f8e4m3", "F8E4M3"}},
    {DType::f8e5m2, {"f8e5m2", "F8E5M2"}},
    {DType::f4e2m1, {"f4e2m1", "F4E2M1"}},
    {DType::f8e8m0, {"f8e8m0", "F8E8M0"}},
    {DType::string, {"string", "STRING"}},
};

}  // namespace

const OpenvinoDtype* openvino_dtype(DType dtype) {
  for (const OpenvinoRow& row : kOpenvinoRows)
    if (row.dtype == dtype) return &row.words;
  return nullptr;
}

std::optional<DType> dtype_from_openvino(std::string_view word) {
  for (const OpenvinoRow& row : kOpenvinoRows)
    if (equal_ignoring_case(word, row.words.attribute) ||
        equal_ignoring_case(word, row.words.precision))
      return row.dtype;
  return std::nullopt;
}

}  // namespace scanloom::tensor
