// Sample: one use of an operator with the results it must give. The samples of operator <name> are
// what <name>_samples() returns, defined in tests/ops/<name>.cpp; the generic suite in
// samples_test.cpp runs all of them. src/ops/list.inc declares the functions, so an operator
// without samples does not link. A file looks like this:
//
//   #include "tests/ops/samples.h"
//
//   namespace scanloom::ops {
//
//   std::vector<Sample> cumsum_samples() {
//     return {
//         {.name = "exclusive",
//          .inputs = {f32({3}, {1, 2, 3}), i64({}, {0})},
//          .attrs = {{"exclusive", 1}, {"reverse", 0}},
//          .outputs = {f32({3}, {0, 1, 3})}},
//         {.name = "axis_outside",
//          .inputs = {f32({3}, {1, 2, 3}), i64({}, {1})},
//          .attrs = {{"exclusive", 0}, {"reverse", 0}},
//          .error = "axis 1 is outside [-1, 1)"},
//     };
//   }
//
//   }  // namespace scanloom::ops
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ops/ops.h"
#include "tensor/object.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

namespace scanloom::ops {

using tensor::ObjectRef;
using tensor::Shape;
using tensor::Tensor;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A tensor, or a sequence or optional, whose tensor is not defined.
struct Datum : Tensor {
  Datum(Tensor tensor) : Tensor(std::move(tensor)) {
    if (defined()) object = ObjectRef::of(*this);
  }
  Datum(ObjectRef value) : object(std::move(value)) {
    if (object && object->is_tensor()) Tensor::operator=(object->tensor());
  }
  [[nodiscard]] bool present() const { return static_cast<bool>(object); }
  /// With all sizes; those of items are what they share.
  [[nodiscard]] tensor::Type type() const;

  ObjectRef object;
};

struct Sample {
  std::string name;           ///< words joined by _; unique within the operator
  std::vector<Datum> inputs;  ///< Tensor(): an optional input that is absent
  std::vector<ir::NamedAttr> attrs = {};
  std::vector<Datum> outputs = {};  ///< NaN stands for any NaN
  std::string error =
      {};  ///< part of the message of infer or of the kernel's fault; no outputs then
  double ulps =
      0;  ///< the tolerance of floating-point results, in units in the last place of their dtype
};

#define SCANLOOM_OP(name) std::vector<Sample> name##_samples();
#include "ops/list.inc"
#undef SCANLOOM_OP

/// Tensors from literals, row-major; `values` may be empty when the shape holds no elements.
Tensor f32(const Shape& shape, std::initializer_list<double> values);
Tensor f64(const Shape& shape, std::initializer_list<double> values);
/// f16, bf16 and every other real dtype; each value must be exact in it.
Tensor floats(DType dtype, const Shape& shape, std::initializer_list<double> values);
Tensor i64(const Shape& shape, std::initializer_list<std::int64_t> values);
Tensor i32(const Shape& shape, std::initializer_list<std::int64_t> values);
Tensor u8(const Shape& shape, std::initializer_list<std::int64_t> values);
/// Every integer dtype; values are taken modulo the dtype's width.
Tensor integers(DType dtype, const Shape& shape, std::initializer_list<std::int64_t> values);
Tensor booleans(const Shape& shape, std::initializer_list<bool> values);
Tensor strings(const Shape& shape, std::initializer_list<const char*> values);
/// Returns 0, 1, 2, ... in `shape`, in any numeric dtype that holds these values.
Tensor counted(DType dtype, const Shape& shape);
inline Tensor absent() { return {}; }
/// A sequence of at least one item, an empty one, and optionals of tensors.
ObjectRef sequence(std::initializer_list<Datum> items);
inline ObjectRef empty_sequence(DType dtype) { return ObjectRef::sequence(dtype); }
ObjectRef optional_of(const Datum& item);
inline ObjectRef empty_optional(DType dtype) { return ObjectRef::optional(dtype); }

}  // namespace scanloom::ops
