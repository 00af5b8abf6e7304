// Kernels that take long poll between parts of their work, on one thread as on several, and leave
// the rest undone once they have to stop. Parts have the bits of the whole.
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "ops/ops.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

class StopsAtPoll final : public tensor::StopToken {
 public:
  explicit StopsAtPoll(int number) : left_(number) {}
  [[nodiscard]] bool was_polled() const { return was_polled_; }

 private:
  bool poll() noexcept override {
    was_polled_ = true;
    const bool stops = left_.fetch_sub(1) <= 1;
    if (stops) set_stopped(true);
    return stops;
  }

  std::atomic<int> left_;
  std::atomic<bool> was_polled_ = false;
};

/// The result is the first output of the use, of 4-byte elements.
void expect_polls(const ir::OpDef& op, Use use) {
  Buffer& result = *use.outputs[0];
  Buffer expected(result.dtype(), result.dims());
  Use plain = use;
  plain.outputs[0] = &expected;
  ASSERT_EQ(run_reference(op, plain), "");
  for (const int threads : {1, 7}) {
    StopsAtPoll never(1 << 30), at_second(2);
    use.stop = &never;
    ASSERT_EQ(run(use, active_isa(), threads), "");
    EXPECT_TRUE(never.was_polled());
    for (std::int64_t i = 0; i < result.elements(); ++i)
      ASSERT_EQ(result.at<std::uint32_t>(i), expected.at<std::uint32_t>(i)) << i;
    use.stop = &at_second;
    EXPECT_EQ(run(use, active_isa(), threads), "stopped") << threads << " threads";
  }
}

TEST(Polling, Copies) {
  Buffer x(DType::f32, {4000, 3000}, Layout::transposed), y(DType::f32, {4000, 3000});
  x.fill_random(1);
  for (const int threads : {1, 7}) {
    StopsAtPoll never(1 << 30), at_second(2);
    Use use{.id = KernelId::copy, .inputs = {&x}, .outputs = {&y}, .stop = &never};
    ASSERT_EQ(run(use, active_isa(), threads), "");
    EXPECT_TRUE(never.was_polled());
    for (std::int64_t i = 0; i < y.elements(); ++i)
      ASSERT_EQ(x.at<std::uint32_t>(i), y.at<std::uint32_t>(i)) << i;
    use.stop = &at_second;
    EXPECT_EQ(run(use, active_isa(), threads), "stopped");
  }
}

TEST(Polling, Searches) {
  Buffer x(DType::f32, {300, 2000}), k(DType::i64, {}), values(DType::f32, {300, 10});
  Buffer indices(DType::i64, {300, 10});
  x.fill_random(1);
  k.at<std::int64_t>(0) = 10;
  expect_polls(ops::topk_op, {.id = KernelId::topk,
                              .inputs = {&x, &k},
                              .outputs = {&values, &indices},
                              .attrs = {Attr(1), Attr(1), Attr(1)}});
}

TEST(Polling, GathersAndScatters) {
  Buffer data(DType::f32, {40, 700}), indices(DType::i64, {900, 700}),
      picked(DType::f32, {900, 700});
  Buffer written(DType::f32, {40, 700});
  data.fill_random(1);
  for (std::int64_t i = 0; i < indices.elements(); ++i) indices.at<std::int64_t>(i) = i * 7 % 40;
  expect_polls(ops::gather_elements_op, {.id = KernelId::gather_elements,
                                         .inputs = {&data, &indices},
                                         .outputs = {&picked},
                                         .attrs = {Attr(0)}});
  for (const char* const reduction : {"none", "add"})
    expect_polls(ops::scatter_elements_op, {.id = KernelId::scatter_elements,
                                            .inputs = {&data, &indices, &picked},
                                            .outputs = {&written},
                                            .attrs = {Attr(0), Attr(reduction)}});
}

TEST(Polling, AnIndexOutsideIsFoundInAnyPart) {
  Buffer data(DType::f32, {40, 700}), indices(DType::i64, {900, 700}),
      picked(DType::f32, {900, 700});
  data.fill_random(1);
  indices.at<std::int64_t>(indices.elements() - 1) = 40;
  for (const int threads : {1, 7})
    EXPECT_EQ(run({.id = KernelId::gather_elements,
                   .inputs = {&data, &indices},
                   .outputs = {&picked},
                   .attrs = {Attr(0)}},
                  active_isa(), threads),
              "index {} is outside an axis of {} elements");
}

TEST(Polling, Resampling) {
  Buffer x(DType::f32, {500, 500}), size(DType::i64, {}), scale(DType::f64, {});
  Buffer y(DType::f32, {500, 1000});
  x.fill_random(1);
  size.at<std::int64_t>(0) = 1000;
  scale.at<double>(0) = 2;
  expect_polls(ops::resample_op, {.id = KernelId::resample,
                                  .inputs = {&x, &size, &scale},
                                  .outputs = {&y},
                                  .attrs = {Attr(1), Attr("cubic"), Attr("asymmetric"), Attr(-0.75),
                                            Attr(0), Attr(0), Attr(0.0)},
                                  .constant = {false, false, true}});
}

// One strip of rows, which would otherwise be computed as a whole.
TEST(Polling, ProductsOfFewRows) {
  Buffer a(DType::f32, {1, 4100}), b(DType::f32, {4100, 8200}), y(DType::f32, {1, 8200});
  a.fill_random(1);
  b.fill_random(2);
  expect_polls(ops::contract_op, {.id = KernelId::contract,
                                  .inputs = {&a, &b},
                                  .outputs = {&y},
                                  .attrs = {Attr("mk,kn->mn")}});
}

TEST(Polling, Factors) {
  for (const std::int64_t size : {40, 300}) {
    const std::int64_t count = size == 40 ? 60 : 1;
    Buffer x(DType::f32, {count, size, size}), lu(DType::f32, {count, size, size});
    Buffer pivots(DType::i64, {count, size});
    x.fill_random(1);
    expect_polls(ops::lu_factor_op,
                 {.id = KernelId::lu_factor, .inputs = {&x}, .outputs = {&lu, &pivots}});
  }
}

}  // namespace
}  // namespace scanloom::kernels::testing
