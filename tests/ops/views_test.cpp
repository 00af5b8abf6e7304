// Views: if an operator says that its result is stored in its input's memory, the elements found
// there are those that its kernel computes.
#include <gtest/gtest.h>

#include "tensor/for_each.h"
#include "tests/ops/bound_operand.h"
#include "tests/ops/samples.h"

namespace scanloom::ops {
namespace {

using tensor::Attr;
using tensor::Operand;

std::vector<Attr> attrs_of(const ir::OpDef& op, const Sample& sample) {
  std::vector<Attr> attrs(op.attrs.size());
  for (const ir::NamedAttr& attr : sample.attrs)
    attrs[static_cast<std::size_t>(op.attr_index(attr.name))] = attr.value;
  return attrs;
}

std::optional<ir::ViewOf> view_of(const ir::OpDef& op, const Sample& sample, const Operand& x) {
  std::vector<std::optional<std::vector<std::int64_t>>> integers;
  for (const Tensor& input : sample.inputs) {
    integers.emplace_back();
    if (!input.defined())
      integers.back().emplace();
    else if (integers.size() > 1)
      integers.back() = to_integers(input);
  }
  const std::vector<Attr> attrs = attrs_of(op, sample);
  return op.view({.dims = x.shape(),
                  .strides = Shape(std::span(x.strides, static_cast<std::size_t>(x.rank))),
                  .result = sample.outputs[0].shape(),
                  .attrs = attrs,
                  .integers = integers});
}

void expect_elements(const Operand& x, const ir::ViewOf& view, const Tensor& expected) {
  ASSERT_EQ(view.dims, expected.shape());
  const std::size_t bytes = dtype_bytes(x.dtype);
  const auto* from = x.data<const std::byte>();
  const auto* element = static_cast<const std::byte*>(expected.data());
  tensor::for_each_index(view.dims.dims(), [&](const Shape& index) {
    const std::int64_t at = view.offset + tensor::offset_of(index, view.strides.data());
    EXPECT_TRUE(std::equal(element, element + bytes, from + at * static_cast<std::int64_t>(bytes)))
        << index.to_string();
    element += bytes;
  });
}

/// The number of (sample, layout) pairs that were views.
int count_views(const ir::OpDef& op, const std::vector<Sample>& samples) {
  int views = 0;
  for (const Sample& sample : samples) {
    if (sample.outputs.size() != 1 || sample.inputs[0].dtype() == DType::string) continue;
    for (const Layout layout : kLayouts) {
      SCOPED_TRACE(sample.name + " layout " + std::to_string(static_cast<int>(layout)));
      BoundOperand bound(sample.inputs[0], layout);
      const Operand x = bound.operand();
      const auto view = view_of(op, sample, x);
      if (!view) continue;
      ++views;
      expect_elements(x, *view, sample.outputs[0]);
    }
  }
  return views;
}

int view_count(const std::vector<Sample>& samples) {
  int count = 0;
  for (const Sample& sample : samples)
    if (sample.outputs.size() == 1 && sample.inputs[0].dtype() != DType::string) ++count;
  return count * static_cast<int>(std::size(kLayouts));
}

TEST(ViewsTest, TransposeAndExpandAreAlwaysViews) {
  EXPECT_EQ(count_views(transpose_op, transpose_samples()), view_count(transpose_samples()));
  EXPECT_EQ(count_views(expand_op, expand_samples()), view_count(expand_samples()));
}

TEST(ViewsTest, AxesOfSizeOneComeAndGoInEveryLayout) {
  EXPECT_EQ(count_views(squeeze_op, squeeze_samples()), view_count(squeeze_samples()));
  EXPECT_EQ(count_views(unsqueeze_op, unsqueeze_samples()), view_count(unsqueeze_samples()));
}

TEST(ViewsTest, ReshapesAreViewsWhereAxesCanBeJoined) {
  const int reshapes = count_views(reshape_op, reshape_samples());
  EXPECT_GT(reshapes, 0);
  EXPECT_LT(reshapes, view_count(reshape_samples()));
  EXPECT_GT(count_views(flatten_op, flatten_samples()), 0);
}

TEST(ViewsTest, SlicesAreViewsAlsoBackwards) {
  EXPECT_EQ(count_views(slice_op, slice_samples()), view_count(slice_samples()));
}

TEST(ViewsTest, ASliceWhoseOperandsAreNotAllKnownIsACopy) {
  const std::optional<std::vector<std::int64_t>> known = std::vector<std::int64_t>{1};
  const std::vector<std::optional<std::vector<std::int64_t>>> integers = {std::nullopt, known,
                                                                          known, std::nullopt};
  EXPECT_FALSE(slice_op.view(
      {.dims = {4}, .strides = {1}, .result = {0}, .attrs = {}, .integers = integers}));
}

TEST(ViewsTest, ReshapeSplitsAndJoinsStridedAxes) {
  const auto reshaped = [](Shape dims, Shape strides, Shape result) {
    return reshape_op.view(
        {.dims = dims, .strides = strides, .result = result, .attrs = {}, .integers = {}});
  };
  const auto split = reshaped({4, 6}, {100, 2}, {2, 2, 3, 2});
  ASSERT_TRUE(split);
  EXPECT_EQ(split->strides, Shape({200, 100, 4, 2}));
  const auto joined = reshaped({2, 3, 4}, {24, 8, 2}, {6, 4});
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->strides, Shape({8, 2}));
  const auto broadcast = reshaped({2, 3, 4}, {0, 0, 1}, {6, 4});
  ASSERT_TRUE(broadcast);
  EXPECT_EQ(broadcast->strides, Shape({0, 1}));
  EXPECT_FALSE(reshaped({2, 3}, {1, 2}, {6}));
}

}  // namespace
}  // namespace scanloom::ops
