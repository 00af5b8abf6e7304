// cumsum and cumprod along any axis of any layout: the bits of adding one line's elements after
// the other.
#include "ops/reduce/cumulative.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tensor/for_each.h"
#include "tensor/tensor.h"
#include "tensor/visit.h"
#include "tests/ops/bound_operand.h"
#include "tests/ops/samples.h"

namespace scanloom::ops {
namespace {

struct Way {
  bool product, exclusive, reverse;
};

/// Values whose sums and products round.
template <class T>
void fill(Tensor& tensor) {
  T* element = static_cast<T*>(tensor.mutable_data());
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    element[i] = tensor::narrow<T>(is_integer(tensor.dtype()) ? static_cast<double>(i * 37 % 101)
                                                              : 0.8 + std::sin(0.7 * double(i)));
}

template <class T, class Total>
Tensor expected_result(const Tensor& x, int axis, Way way) {
  Tensor y = *Tensor::zeros(x.dtype(), x.shape());
  std::int64_t step = 1;
  for (int after = axis + 1; after < x.shape().rank(); ++after) step *= x.shape()[after];
  const std::int64_t count = x.shape()[axis];
  const T* from = static_cast<const T*>(x.data());
  T* to = static_cast<T*>(y.mutable_data());
  for (std::int64_t first = 0; first < x.elements(); ++first) {
    if (first / step % count != 0) continue;
    Total total = way.product ? 1 : 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = first + (way.reverse ? count - 1 - i : i) * step;
      if (way.exclusive) to[at] = tensor::narrow<T>(total);
      const auto value = static_cast<Total>(tensor::widen(from[at]));
      total = way.product ? total * value : total + value;
      if (!way.exclusive) to[at] = tensor::narrow<T>(total);
    }
  }
  return y;
}

void expect_result(const Tensor& x, const Tensor& expected, int axis, Way way, Layout layout,
                   int threads = 1) {
  BoundOperand in(x, layout), axes(i64({}, {axis}), Layout::contiguous);
  BoundOperand out(x.dtype(), x.shape(), layout);
  const tensor::Operand inputs[] = {in.operand(), axes.operand()};
  const tensor::Operand output = out.operand();
  const tensor::Attr attrs[] = {std::int64_t{way.exclusive}, std::int64_t{way.reverse}};
  tensor::Fault fault;
  tensor::Call call;
  call.inputs = inputs;
  call.outputs = &output;
  call.input_count = 2;
  call.output_count = 1;
  call.attrs = attrs;
  call.fault = &fault;
  call.max_threads = threads;
  ASSERT_EQ((way.product ? run_cumprod : run_cumsum)(call), tensor::Status::ok);
  EXPECT_TRUE(tensor::identical(out.tensor(), expected))
      << x.shape().to_string() << " axis " << axis << " product " << way.product << " exclusive "
      << way.exclusive << " reverse " << way.reverse << " layout " << static_cast<int>(layout);
  EXPECT_TRUE(out.untouched_between());
}

template <class T, class Total>
void expect_results(DType dtype, const Shape& shape) {
  Tensor x = *Tensor::zeros(dtype, shape);
  fill<T>(x);
  for (int ways = 0; ways < 8; ++ways) {
    const Way way{(ways & 1) != 0, (ways & 2) != 0, (ways & 4) != 0};
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const Tensor expected = expected_result<T, Total>(x, axis, way);
      for (const Layout layout : kLayouts) expect_result(x, expected, axis, way, layout);
    }
  }
}

TEST(CumulativeTest, AddsInTheOrderOfEachLineWhateverTheWidth) {
  for (const std::int64_t columns : {1, 2, 3, 4, 5, 7, 8, 9, 16, 23, 511, 512, 513, 1031})
    expect_results<float, float>(DType::f32, {5, columns});
  for (const std::int64_t count : {0, 1, 2, 3, 100})
    expect_results<float, float>(DType::f32, {count, 9});
}

TEST(CumulativeTest, TakesLinesAlongInnerAxes) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{3, 17, 9}, Shape{2, 5, 3, 2}, Shape{4, 1, 8}})
    expect_results<float, float>(DType::f32, shape);
}

TEST(CumulativeTest, ThreadsDoNotChangeBits) {
  for (const Shape& shape : {Shape{300, 251}, Shape{3, 40, 601}, Shape{20, 50, 70}, Shape{70000}}) {
    Tensor x = *Tensor::zeros(DType::f32, shape);
    fill<float>(x);
    for (int axis = 0; axis < shape.rank(); ++axis)
      for (const bool reverse : {false, true}) {
        const Way way{.product = false, .exclusive = reverse, .reverse = reverse};
        const Tensor expected = expected_result<float, float>(x, axis, way);
        for (const int threads : {1, 2, 7})
          for (const Layout layout : kLayouts)
            expect_result(x, expected, axis, way, layout, threads);
      }
  }
}

TEST(CumulativeTest, HasTotalsOfItsOwnForEachElementType) {
  for (const Shape& shape : {Shape{20, 3}, Shape{20, 21}}) {
    expect_results<double, double>(DType::f64, shape);
    expect_results<tensor::Half, float>(DType::f16, shape);
    expect_results<tensor::BFloat16, float>(DType::bf16, shape);
    expect_results<std::int8_t, std::uint64_t>(DType::i8, shape);
    expect_results<std::int64_t, std::uint64_t>(DType::i64, shape);
  }
}

}  // namespace
}  // namespace scanloom::ops
