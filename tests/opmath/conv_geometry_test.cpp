#include "opmath/conv_geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanloom::tensor {
namespace {

using testing::HasSubstr;
using Numbers = std::vector<std::int64_t>;

/// In the order of ConvAttr; Attr() is absent.
std::vector<Attr> attrs(Attr auto_pad, Attr dilations, Attr group, Attr pads, Attr strides) {
  return {std::move(auto_pad), std::move(dilations), std::move(group), std::move(pads),
          std::move(strides)};
}

ConvGeometry geometry_of(const Shape& x, const Shape& w, const std::vector<Attr>& given) {
  auto geometry = conv_geometry(x, w, given);
  EXPECT_TRUE(geometry) << geometry.error().text();
  return geometry ? *geometry : ConvGeometry();
}

TEST(ConvGeometryTest, AbsentAttributesAreDefaults) {
  const ConvGeometry g = geometry_of({2, 3, 8}, {5, 3, 4}, attrs({}, {}, {}, {}, {}));
  EXPECT_EQ(g.spatial, 1);
  EXPECT_EQ(g.batch, 2);
  EXPECT_EQ(g.group, 1);
  EXPECT_EQ(g.channels, 3);
  EXPECT_EQ(g.filters, 5);
  EXPECT_EQ(g.out[0], 5);
  EXPECT_EQ(g.pad[0], 0);
  EXPECT_EQ(g.kernel_positions(), 4);
  EXPECT_EQ(g.out_positions(), 5);
}

TEST(ConvGeometryTest, PadsAreAllBeginsThenAllEnds) {
  const ConvGeometry g =
      geometry_of({1, 1, 4, 4}, {1, 1, 3, 3}, attrs("explicit", {}, {}, Numbers{1, 2, 3, 4}, {}));
  EXPECT_EQ(g.pad[0], 1);
  EXPECT_EQ(g.pad[1], 2);
  EXPECT_EQ(g.out[0], 6);
  EXPECT_EQ(g.out[1], 8);
}

TEST(ConvGeometryTest, TheOddElementOfSamePaddingGoesWhereItSays) {
  const ConvGeometry upper = geometry_of({1, 1, 5}, {1, 1, 4}, attrs("same_upper", {}, {}, {}, {}));
  const ConvGeometry lower = geometry_of({1, 1, 5}, {1, 1, 4}, attrs("same_lower", {}, {}, {}, {}));
  EXPECT_EQ(upper.out[0], 5);
  EXPECT_EQ(upper.pad[0], 1);
  EXPECT_EQ(lower.out[0], 5);
  EXPECT_EQ(lower.pad[0], 2);
}

TEST(ConvGeometryTest, ValidIgnoresPads) {
  const ConvGeometry g =
      geometry_of({1, 1, 7}, {1, 1, 3}, attrs("valid", Numbers{2}, {}, Numbers{9, 9}, Numbers{2}));
  EXPECT_EQ(g.pad[0], 0);
  EXPECT_EQ(g.out[0], 2);
}

TEST(ConvGeometryTest, AKernelOneStepTooLongMakesAnEmptyResult) {
  EXPECT_EQ(geometry_of({1, 1, 2}, {1, 1, 6}, attrs({}, {}, {}, {}, Numbers{4})).out[0], 0);
  const auto longer = conv_geometry({1, 1, 2}, {1, 1, 7}, attrs({}, {}, {}, {}, Numbers{4}));
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().text(), HasSubstr("a kernel over 7 elements does not fit into the 2"));
}

TEST(ConvGeometryTest, NumbersThatWouldOverflowAreRefused) {
  const auto wide =
      conv_geometry({1, 1, 4}, {1, 1, 2}, attrs({}, Numbers{std::int64_t{1} << 62}, {}, {}, {}));
  ASSERT_FALSE(wide);
  EXPECT_THAT(wide.error().text(), HasSubstr("dilations has the number 4611686018427387904"));
  const auto kernel = conv_geometry({1, 1, 4}, {1, 0, std::int64_t{1} << 33},
                                    attrs({}, Numbers{1 << 30}, {}, {}, {}));
  ASSERT_FALSE(kernel);
}

TEST(ConvGeometryTest, GroupsMustDivide) {
  const auto none = conv_geometry({1, 4, 4}, {4, 2, 2}, attrs({}, {}, 0, {}, {}));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text(), HasSubstr("group is 0, but must be at least 1"));
  const auto uneven = conv_geometry({1, 5, 4}, {4, 2, 2}, attrs({}, {}, 2, {}, {}));
  ASSERT_FALSE(uneven);
  EXPECT_THAT(uneven.error().text(),
              HasSubstr("x has 5 channels, but w takes 2 in each of 2 groups"));
}

}  // namespace
}  // namespace scanloom::tensor
