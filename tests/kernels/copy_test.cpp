#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

std::string copied(Buffer& from, Buffer& to) {
  const Use use{.id = KernelId::copy, .inputs = {&from}, .outputs = {&to}};
  for (const Isa isa : available_isas())
    if (std::string why = run(use, isa); !why.empty()) return why;
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
    for (const Shape& shape :
         {Shape{}, Shape{0}, Shape{1}, Shape{33}, Shape{17, 40}, Shape{2, 3, 5}, Shape{4, 1, 37, 2},
          Shape{3, 0, 2}, Shape{70, 65}, Shape{90, 2}, Shape{90, 3}, Shape{3, 90, 4}, Shape{2, 90},
          Shape{3, 150}, Shape{2, 4, 70}, Shape{130, 5, 2}})
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

TEST(Copy, RepeatsElementsInRuns) {
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64, DType::c128})
    for (const std::int64_t times : {2, 3, 4, 5, 16, 5000}) {
      Buffer from(dtype, {70, 1}), to(dtype, {70, times});
      fill_counting(from);
      EXPECT_EQ(copied(from, to), "") << dtype_name(dtype) << times;
    }
}

TEST(Copy, LargeOnesOnSeveralThreads) {
  for (const Isa isa : available_isas())
    for (const Layout layout : kLayouts) {
      Buffer from(DType::f32, {600, 1030}, layout), to(DType::f32, {600, 1030});
      fill_counting(from);
      ASSERT_EQ(run({.id = KernelId::copy, .inputs = {&from}, .outputs = {&to}}, isa, 7), "");
      for (std::int64_t i = 0; i < to.elements(); ++i)
        ASSERT_EQ(from.at<std::uint32_t>(i), to.at<std::uint32_t>(i)) << isa_name(isa);
    }
}

TEST(Copy, OneRunOnSeveralThreads) {
  for (const std::int64_t elements : {65'535, 65'536, 100'003}) {
    Buffer from(DType::f32, {elements}), to(DType::f32, {1, elements});
    fill_counting(from);
    const Use use{.id = KernelId::copy, .inputs = {&from}, .outputs = {&to}};
    ASSERT_EQ(run(use, active_isa(), 7), "");
    for (std::int64_t i = 0; i < elements; ++i)
      ASSERT_EQ(from.at<std::uint32_t>(i), to.at<std::uint32_t>(i)) << i;
    EXPECT_TRUE(to.untouched_between());
  }
}

TEST(Copy, OneContiguousOperandIsEnoughForAnotherShape) {
  for (const Layout layout : kLayouts) {
    Buffer strided(DType::f32, {6, 4, 5}, layout), flat(DType::f32, {2, 60});
    fill_counting(strided);
    ASSERT_EQ(run({.id = KernelId::copy, .inputs = {&strided}, .outputs = {&flat}}, active_isa()),
              "");
    for (int i = 0; i < 120; ++i)
      EXPECT_EQ(strided.at<std::uint32_t>(i), flat.at<std::uint32_t>(i));
    Buffer back(DType::f32, {6, 4, 5}, layout);
    ASSERT_EQ(run({.id = KernelId::copy, .inputs = {&flat}, .outputs = {&back}}, active_isa()), "");
    for (int i = 0; i < 120; ++i) EXPECT_EQ(back.at<std::uint32_t>(i), flat.at<std::uint32_t>(i));
    EXPECT_TRUE(back.untouched_between());
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
