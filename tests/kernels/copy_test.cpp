#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

std::string copied(Buffer& from, Buffer& to) {
  const Use use{.id = KernelId::copy, .inputs = {&from}, .outputs = {&to}};
  if (std::string why = run(use, active_isa()); !why.empty()) return why;
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    std::int64_t number = 0, rest = i, scale = 1;
    for (int axis = to.dims().rank() - 1; axis >= 0; --axis) {
      const int own = axis - to.dims().rank() + from.dims().rank();
      if (own >= 0) {
        number += from.dims()[own] == 1 ? 0 : rest % to.dims()[axis] * scale;
        scale *= from.dims()[own];
      }
      rest /= to.dims()[axis];
    }
    if (std::memcmp(from.element(number), to.element(i), dtype_bytes(to.dtype())) != 0)
      return "element " + std::to_string(i);
  }
  return to.untouched_between() ? "" : "bytes between the elements were written to";
}

void fill_counting(Buffer& buffer) {
  for (std::int64_t i = 0; i < buffer.elements(); ++i) {
    const std::uint64_t parts[2] = {static_cast<std::uint64_t>(i) * 2654435761u,
                                    ~static_cast<std::uint64_t>(i)};
    std::memcpy(buffer.element(i), parts, dtype_bytes(buffer.dtype()));
  }
}

TEST(Copy, BetweenAllLayoutsOfAllSizes) {
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64, DType::c128})
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{33}, Shape{17, 40},
                               Shape{2, 3, 5}, Shape{4, 1, 37, 2}, Shape{3, 0, 2}})
      for (const Layout from_layout : kLayouts)
        for (const Layout to_layout : kLayouts) {
          Buffer from(dtype, shape, from_layout), to(dtype, shape, to_layout);
          fill_counting(from);
          EXPECT_EQ(copied(from, to), "") << dtype_name(dtype) << shape.to_string();
        }
}

TEST(Copy, Broadcasts) {
  for (const Layout layout : kLayouts) {
    Buffer column(DType::i64, {5, 1}, layout), row(DType::i64, {1, 9}, layout), one(DType::i64, {});
    Buffer to(DType::i64, {3, 5, 9}, layout);
    for (Buffer* from : {&column, &row, &one}) {
      fill_counting(*from);
      EXPECT_EQ(copied(*from, to), "");
    }
  }
}

TEST(Copy, ContiguousOperandsMayDifferInShape) {
  Buffer from(DType::f32, {6, 4}), to(DType::f32, {2, 12});
  fill_counting(from);
  ASSERT_EQ(run({.id = KernelId::copy, .inputs = {&from}, .outputs = {&to}}, active_isa()), "");
  for (int i = 0; i < 24; ++i) EXPECT_EQ(from.at<std::uint32_t>(i), to.at<std::uint32_t>(i));
}

TEST(Copy, DeclinesWhatIsNoCopy) {
  Buffer from(DType::f32, {6}), longer(DType::f32, {7}), other(DType::f64, {6});
  EXPECT_EQ(run({.id = KernelId::copy, .inputs = {&from}, .outputs = {&longer}}, active_isa()),
            "sizes differ");
  EXPECT_EQ(run({.id = KernelId::copy, .inputs = {&from}, .outputs = {&other}}, active_isa()),
            "changes the element type");
}

}  // namespace
}  // namespace scanloom::kernels::testing
