// Fourier transforms: the kernel gives the bits of the reference operator, on every instruction
// set, for any number of threads, along any axis, for lines alone and several at once.
#include <gtest/gtest.h>

#include <vector>

#include "opmath/fourier_plan.h"
#include "ops/ops.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

struct DftCase {
  Shape x;
  int axis = 0;
  bool inverse = false, onesided = false;
  std::int64_t length = 0;  ///< 0: absent

  [[nodiscard]] std::int64_t full() const {
    if (length > 0) return length;
    return inverse && onesided ? 2 * (x[axis] - 1) : x[axis];
  }
  [[nodiscard]] Shape result() const {
    Shape y = x;
    y[axis] = onesided && !inverse ? full() / 2 + 1 : full();
    y[y.rank() - 1] = inverse && onesided ? 1 : 2;
    return y;
  }
};

template <class T>
void expect_dft(const DftCase& c, Layout layout, Isa isa, int threads) {
  Buffer x(dtype_of<T>, c.x, layout), length(DType::i64, {});
  Buffer y(dtype_of<T>, c.result(), layout), plain(dtype_of<T>, c.result());
  x.fill_random(1);
  length.at<std::int64_t>(0) = c.length;
  std::vector<Buffer*> inputs = {&x};
  if (c.length > 0) inputs.push_back(&length);
  const std::vector<Attr> attrs = {Attr(c.axis), Attr(c.inverse ? 1 : 0), Attr(c.onesided ? 1 : 0),
                                   Attr(c.inverse ? 1 : 0)};
  const Use use{.id = KernelId::dft,
                .inputs = inputs,
                .outputs = {&y},
                .attrs = attrs,
                .constant = {false, c.length % 2 == 0}};
  ASSERT_EQ(run(use, isa, threads), "");
  ASSERT_EQ(run_reference(ops::dft_op, {.inputs = inputs, .outputs = {&plain}, .attrs = attrs}),
            "");
  std::vector<T> wanted;
  for (std::int64_t i = 0; i < plain.elements(); ++i) wanted.push_back(plain.at<T>(i));
  EXPECT_EQ(difference(y, wanted), "")
      << c.x.to_string() << " axis " << c.axis << (c.inverse ? " inverse" : "")
      << (c.onesided ? " onesided" : "") << " length " << c.length << " " << isa_name(isa);
}

void expect_both_types(const DftCase& c, Layout layout = Layout::contiguous, int threads = 1) {
  for (const Isa isa : available_isas()) {
    expect_dft<float>(c, layout, isa, threads);
    expect_dft<double>(c, layout, isa, threads);
  }
}

TEST(Dft, EveryLength) {
  for (std::int64_t n = 1; n <= 70; ++n) {
    expect_both_types({.x = {2, n, 2}, .axis = 1});
    expect_both_types({.x = {1, n, 1}, .axis = 1, .onesided = true});
    expect_both_types({.x = {1, n + 1, 2}, .axis = 1, .inverse = true, .onesided = true});
  }
  for (const std::int64_t n : {96, 100, 128, 243, 256, 400, 441, 480, 509, 512, 1000, 1018, 1536})
    for (const bool inverse : {false, true}) {
      expect_both_types({.x = {1, n, 2}, .axis = 1, .inverse = inverse});
      expect_both_types({.x = {1, n, 1}, .axis = 1, .inverse = inverse});
    }
}

TEST(Dft, EveryLayoutAndAxis) {
  for (const Layout layout : kLayouts)
    for (const int axis : {0, 1, 2})
      for (const int parts : {1, 2})
        for (const bool inverse : {false, true}) {
          expect_both_types({.x = {18, 20, 17, parts}, .axis = axis, .inverse = inverse}, layout);
          if (parts == 1 || inverse)
            expect_both_types(
                {.x = {18, 6, 35, parts}, .axis = axis, .inverse = inverse, .onesided = true},
                layout);
        }
}

TEST(Dft, PaddedAndCut) {
  for (const std::int64_t length : {1, 2, 7, 8, 9, 30, 31, 62, 63, 64, 67})
    for (const int lines : {1, 33})
      for (const bool inverse : {false, true})
        for (const bool onesided : {false, true})
          for (const int parts : {1, 2})
            if (!onesided || inverse || parts == 1)
              expect_both_types({.x = {lines, 31, parts},
                                 .axis = 1,
                                 .inverse = inverse,
                                 .onesided = onesided,
                                 .length = length});
}

TEST(Dft, AnyNumberOfThreads) {
  for (const int threads : {1, 2, 7})
    for (const std::int64_t n : {16, 120, 509}) {
      expect_both_types({.x = {300, n, 2}, .axis = 1}, Layout::contiguous, threads);
      expect_both_types({.x = {n, 300, 1}, .axis = 0, .onesided = true}, Layout::contiguous,
                        threads);
    }
}

TEST(Dft, RefusesWhatNoTransformHas) {
  Buffer x(DType::f32, {4, 3}), y(DType::f32, {4, 2}), length(DType::i64, {});
  const std::vector<Attr> attrs = {Attr(0), Attr(0), Attr(0), Attr(0)};
  EXPECT_EQ(run({.id = KernelId::dft, .inputs = {&x}, .outputs = {&y}, .attrs = attrs},
                available_isas().front()),
            "the last axis of x has {} elements, not 1 or 2");
  Buffer real(DType::f32, {4, 1});
  length.at<std::int64_t>(0) = -1;
  EXPECT_EQ(run({.id = KernelId::dft, .inputs = {&real, &length}, .outputs = {&y}, .attrs = attrs},
                available_isas().front()),
            "the length of the transform is {}, but at least 1 is needed");
  length.at<std::int64_t>(0) = 5;
  EXPECT_EQ(run({.id = KernelId::dft, .inputs = {&real, &length}, .outputs = {&y}, .attrs = attrs},
                available_isas().front()),
            "the length of the transform is {}, which is not that of the result");
}

}  // namespace
}  // namespace scanloom::kernels::testing
