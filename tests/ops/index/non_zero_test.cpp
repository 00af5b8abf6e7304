// non_zero of many elements of any layout, which threads share: the columns in row-major order.
#include <gtest/gtest.h>

#include <vector>

#include "ops/ops.h"
#include "tensor/tensor.h"
#include "tests/ops/bound_operand.h"
#include "tests/ops/samples.h"

namespace scanloom::ops {
namespace {

/// Of elements in row-major order.
std::vector<std::int64_t> expected_columns(const Tensor& x) {
  const auto* const element = static_cast<const float*>(x.data());
  const int rank = x.shape().rank();
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(rank));
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    if (element[i] == 0) continue;
    std::int64_t rest = i;
    for (int axis = rank; axis-- > 0; rest /= x.shape()[axis])
      rows[static_cast<std::size_t>(axis)].push_back(rest % x.shape()[axis]);
  }
  std::vector<std::int64_t> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

TEST(NonZeroTest, ThreadsFindTheColumnsInOrder) {
  for (const Shape& shape :
       {Shape{70001}, Shape{300, 251}, Shape{2, 40000}, Shape{30000, 3}, Shape{7, 40, 1, 300}}) {
    Tensor x = *Tensor::zeros(DType::f32, shape);
    for (std::int64_t i = 0; i < x.elements(); ++i)
      static_cast<float*>(x.mutable_data())[i] = i * i % 7 < 3 && i % 1000 < 900 ? 1 : 0;
    const std::vector<std::int64_t> expected = expected_columns(x);
    const Shape found{shape.rank(), static_cast<std::int64_t>(expected.size()) / shape.rank()};
    for (const int threads : {1, 2, 7})
      for (const Layout layout : kLayouts) {
        BoundOperand in(x, layout), out(DType::i64, found, layout);
        const tensor::Operand input = in.operand(), output = out.operand();
        tensor::Call call;
        call.inputs = &input;
        call.outputs = &output;
        call.input_count = call.output_count = 1;
        call.max_threads = threads;
        ASSERT_EQ(non_zero_op.reference(call), tensor::Status::ok);
        const Tensor got = out.tensor();
        const auto numbers = got.as<std::int64_t>();
        EXPECT_TRUE(std::vector<std::int64_t>(numbers.begin(), numbers.end()) == expected)
            << shape.to_string() << ", " << threads << " threads";
        EXPECT_TRUE(out.untouched_between());
      }
  }
}

}  // namespace
}  // namespace scanloom::ops
