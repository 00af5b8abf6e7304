// Kernels that move or pick elements: they give the bits of the reference operators on every
// instruction set and for every number of threads, for sizes around the vector length and operands
// in all layouts.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ops/ops.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

/// Runs the reference into buffers of its own; returns the fault's text if there is one.
std::string run_reference_apart(const ir::OpDef& op, Use use,
                                std::vector<std::unique_ptr<Buffer>>& results) {
  for (Buffer*& output : use.outputs) {
    results.push_back(std::make_unique<Buffer>(output->dtype(), output->dims()));
    output = results.back().get();
  }
  return run_reference(op, use);
}

std::string first_difference(Buffer& actual, Buffer& expected) {
  for (std::int64_t i = 0; i < actual.elements(); ++i)
    if (!same_bits(actual.dtype(), actual.element(i), expected.element(i)))
      return "element " + std::to_string(i);
  return actual.untouched_between() ? "" : "bytes between the elements were written to";
}

/// Whether the kernel did what the reference does, or declined.
void expect_as_reference(const ir::OpDef& op, const Use& use, bool may_decline = false) {
  std::vector<std::unique_ptr<Buffer>> expected;
  const std::string fault = run_reference_apart(op, use, expected);
  for (const Isa isa : available_isas())
    for (const int threads : {1, 2, 7}) {
      const std::string why = run(use, isa, threads);
      if (may_decline && why != fault) return;
      ASSERT_EQ(why, fault) << isa_name(isa);
      if (!fault.empty()) continue;
      for (std::size_t i = 0; i < use.outputs.size(); ++i)
        ASSERT_EQ(first_difference(*use.outputs[i], *expected[i]), "")
            << isa_name(isa) << ", " << threads << " threads, result " << i;
    }
}

constexpr DType kMoved[] = {DType::boolean, DType::f16, DType::f32, DType::i64, DType::c128};

void fill_bytes(Buffer& buffer, unsigned seed) {
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < buffer.elements(); ++i)
    for (std::size_t k = 0; k < dtype_bytes(buffer.dtype()); ++k)
      buffer.element(i)[k] =
          static_cast<std::byte>(buffer.dtype() == DType::boolean ? random() % 2 : random() % 256);
}

/// Indices of both signs into axes of these sizes, in turn.
void fill_indices(Buffer& indices, const std::vector<std::int64_t>& sizes, unsigned seed) {
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < indices.elements(); ++i) {
    const std::int64_t size = sizes[static_cast<std::size_t>(i) % sizes.size()];
    const std::int64_t index = static_cast<std::int64_t>(random() % (2 * size)) - size;
    if (indices.dtype() == DType::i32)
      indices.at<std::int32_t>(i) = static_cast<std::int32_t>(index);
    else
      indices.at<std::int64_t>(i) = index;
  }
}

struct TupleCase {
  Shape data, indices, other;
  int batch;
};

const std::vector<TupleCase>& tuple_cases() {
  static const std::vector<TupleCase> all = {
      {{7}, {1}, {}, 0},
      {{7}, {300, 1}, {300}, 0},
      {{5, 6}, {40, 2}, {40}, 0},
      {{5, 6}, {4, 9, 1}, {4, 9, 6}, 0},
      {{3, 4, 5}, {2, 3}, {2}, 0},
      {{3, 4, 5}, {17, 2}, {17, 5}, 0},
      {{3, 40, 5, 2}, {3, 17, 1}, {3, 17, 5, 2}, 1},
      {{6, 1, 3}, {0, 1}, {0, 1, 3}, 0},
      {{6, 0}, {4, 1}, {4, 0}, 0},
      {{600, 70}, {900, 1}, {900, 70}, 0},
  };
  return all;
}

std::vector<std::int64_t> indexed_sizes(const TupleCase& c) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t k = 0; k < c.indices[c.indices.rank() - 1]; ++k)
    sizes.push_back(c.data[c.batch + static_cast<int>(k)]);
  return sizes;
}

TEST(Moves, GatherOfTuples) {
  for (const TupleCase& c : tuple_cases())
    for (const DType dtype : kMoved)
      for (const DType index : {DType::i32, DType::i64})
        for (const Layout layout : kLayouts) {
          Buffer data(dtype, c.data, layout), indices(index, c.indices, layout);
          Buffer y(dtype, c.other, layout);
          fill_bytes(data, 1);
          fill_indices(indices, indexed_sizes(c), 2);
          expect_as_reference(ops::gather_nd_op, {.id = KernelId::gather_nd,
                                                  .inputs = {&data, &indices},
                                                  .outputs = {&y},
                                                  .attrs = {Attr(c.batch)}});
        }
}

TEST(Moves, ScatterToTuples) {
  for (const TupleCase& c : tuple_cases()) {
    if (c.batch != 0) continue;
    for (const DType dtype : kMoved)
      for (const Layout layout : kLayouts) {
        Buffer data(dtype, c.data, layout), indices(DType::i64, c.indices, layout);
        Buffer updates(dtype, c.other, layout), y(dtype, c.data, layout);
        fill_bytes(data, 1);
        fill_bytes(updates, 3);
        fill_indices(indices, indexed_sizes(c), 2);
        expect_as_reference(ops::scatter_nd_op, {.id = KernelId::scatter_nd,
                                                 .inputs = {&data, &indices, &updates},
                                                 .outputs = {&y},
                                                 .attrs = {Attr("none")}});
      }
  }
}

TEST(Moves, ScatterWithReductions) {
  for (const TupleCase& c : tuple_cases()) {
    if (c.batch != 0) continue;
    for (const char* reduction : {"add", "mul", "max", "min"})
      for (const DType dtype : {DType::f16, DType::f32, DType::f64, DType::u8, DType::i64})
        for (const Layout layout : {Layout::contiguous, Layout::reversed}) {
          Buffer data(dtype, c.data, layout), indices(DType::i32, c.indices, layout);
          Buffer updates(dtype, c.other, layout), y(dtype, c.data, layout);
          data.fill_random(1);
          updates.fill_random(3);
          fill_indices(indices, indexed_sizes(c), 2);
          expect_as_reference(ops::scatter_nd_op, {.id = KernelId::scatter_nd,
                                                   .inputs = {&data, &indices, &updates},
                                                   .outputs = {&y},
                                                   .attrs = {Attr(reduction)}});
        }
  }
}

struct ElementCase {
  Shape data, indices;
  int axis;
};

const std::vector<ElementCase>& element_cases() {
  static const std::vector<ElementCase> all = {
      {{7}, {300}, 0},           {{5, 6}, {5, 40}, 1},      {{5, 6}, {9, 4}, 0},
      {{5, 6}, {3, 6}, -2},      {{3, 4, 5}, {2, 9, 5}, 1}, {{3, 0}, {3, 0}, 0},
      {{4, 1, 3}, {0, 1, 2}, 0}, {{64, 500}, {64, 600}, 1},
  };
  return all;
}

TEST(Moves, GatherAndScatterOfElements) {
  for (const ElementCase& c : element_cases()) {
    const int axis = c.axis < 0 ? c.axis + c.data.rank() : c.axis;
    for (const DType dtype : kMoved)
      for (const DType index : {DType::i32, DType::i64})
        for (const Layout layout : kLayouts) {
          Buffer data(dtype, c.data, layout), indices(index, c.indices, layout);
          Buffer picked(dtype, c.indices, layout), written(dtype, c.data, layout);
          fill_bytes(data, 1);
          fill_indices(indices, {std::max<std::int64_t>(c.data[axis], 1)}, 2);
          expect_as_reference(ops::gather_elements_op, {.id = KernelId::gather_elements,
                                                        .inputs = {&data, &indices},
                                                        .outputs = {&picked},
                                                        .attrs = {Attr(c.axis)}});
          Buffer updates(dtype, c.indices, layout);
          fill_bytes(updates, 3);
          const Use use{.id = KernelId::scatter_elements,
                        .inputs = {&data, &indices, &updates},
                        .outputs = {&written},
                        .attrs = {Attr(c.axis), Attr("none")}};
          expect_as_reference(ops::scatter_elements_op, use);
        }
  }
}

TEST(Moves, AnIndexOutsideIsAFault) {
  Buffer data(DType::f32, {3, 4}), indices(DType::i64, {600, 2}), y(DType::f32, {600});
  data.fill_random(1);
  for (const std::int64_t at : {0, 255, 256, 599})
    for (const std::int64_t index :
         {std::int64_t{4}, std::int64_t{-5}, std::numeric_limits<std::int64_t>::min(),
          std::numeric_limits<std::int64_t>::max()}) {
      fill_indices(indices, {3, 4}, 5);
      indices.at<std::int64_t>(2 * at + 1) = index;
      expect_as_reference(ops::gather_nd_op, {.id = KernelId::gather_nd,
                                              .inputs = {&data, &indices},
                                              .outputs = {&y},
                                              .attrs = {Attr(0)}});
      Buffer into(DType::f32, {3, 4});
      expect_as_reference(ops::scatter_nd_op, {.id = KernelId::scatter_nd,
                                               .inputs = {&data, &indices, &y},
                                               .outputs = {&into},
                                               .attrs = {Attr("none")}});
    }
}

struct ResampleCase {
  Shape x;
  int axis;
  std::int64_t size;
  const char *mode, *coordinates;
  bool antialias, exclude;
};

std::vector<ResampleCase> resample_cases() {
  std::vector<ResampleCase> cases;
  for (const auto& [x, axis] : std::vector<std::pair<Shape, int>>{
           {{5}, 0}, {{1, 3, 40}, 2}, {{2, 19, 33}, 1}, {{17, 4, 3}, 0}, {{300, 70}, 1}})
    for (const std::int64_t size : {1, 7, 38, 80, 200}) {
      if (x[0] == 300 && size != 80) continue;  // enough for threads to share; it takes long
      for (const char* mode : {"nearest_floor", "nearest_round_prefer_ceil", "linear", "cubic"})
        for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners"})
          for (const bool option : {false, true})
            cases.push_back({x, axis, size, mode, coordinates, option, option && size > 20});
    }
  return cases;
}

TEST(Moves, Resampling) {
  for (const ResampleCase& c : resample_cases())
    for (const DType dtype : {DType::f32, DType::f64})
      for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::gapped})
        for (const bool constant : {false, true}) {
          Shape result = c.x;
          result[c.axis] = c.size;
          Buffer x(dtype, c.x, layout), size(DType::i64, {}), scale(DType::f64, {});
          Buffer y(dtype, result, layout);
          x.fill_random(1);
          scale.at<double>(0) = static_cast<double>(c.size) / static_cast<double>(c.x[c.axis]);
          const Use use{.id = KernelId::resample,
                        .inputs = {&x, &size, &scale},
                        .outputs = {&y},
                        .attrs = {Attr(c.axis), Attr(c.mode), Attr(c.coordinates), Attr(-0.75),
                                  Attr(c.antialias ? 1 : 0), Attr(c.exclude ? 1 : 0), Attr(0.0)},
                        .constant = {false, false, constant}};
          expect_as_reference(ops::resample_op, use, /*may_decline=*/c.antialias);
        }
}

TEST(Moves, ResamplingLeavesOutWeightsOfZero) {
  // Infinity times 0 would be NaN.
  Buffer x(DType::f32, {70}), size(DType::i64, {}), scale(DType::f64, {}), y(DType::f32, {140});
  x.fill_random(1);
  x.at<float>(30) = std::numeric_limits<float>::infinity();
  scale.at<double>(0) = 2;
  expect_as_reference(ops::resample_op, {.id = KernelId::resample,
                                         .inputs = {&x, &size, &scale},
                                         .outputs = {&y},
                                         .attrs = {Attr(0), Attr("linear"), Attr("asymmetric"),
                                                   Attr(-0.75), Attr(0), Attr(0), Attr(0.0)},
                                         .constant = {false, false, true}});
  EXPECT_TRUE(std::isfinite(y.at<float>(58)));
}

/// Few different values, so that there are equals; some are special.
void fill_ranked(Buffer& x, unsigned seed) {
  x.fill_random(seed);
  std::mt19937 random(seed);
  const double specials[] = {0.0, -0.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()};
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    if (random() % 3 != 0) continue;
    const double value = specials[random() % 5];
    if (x.dtype() == DType::f32) x.at<float>(i) = static_cast<float>(value);
    if (x.dtype() == DType::f64) x.at<double>(i) = value;
  }
}

TEST(Moves, TopK) {
  struct Case {
    Shape x;
    int axis;
    std::int64_t k;
  };
  const std::vector<Case> cases = {{{1}, 0, 1},      {{40}, 0, 0},        {{40}, 0, 3},
                                   {{40}, 0, 16},    {{40}, 0, 17},       {{40}, 0, 40},
                                   {{500}, 0, 20},   {{500}, 0, 250},     {{7, 90}, 1, 5},
                                   {{90, 7}, 0, 33}, {{64, 2000}, 1, 10}, {{64, 2000}, -1, 100}};
  for (const Case& c : cases)
    for (const DType dtype :
         {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8, DType::u32, DType::i64})
      for (const int largest : {0, 1})
        for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::reversed}) {
          Shape kept = c.x;
          kept[c.axis < 0 ? c.axis + c.x.rank() : c.axis] = c.k;
          Buffer x(dtype, c.x, layout), k(DType::i64, {});
          Buffer values(dtype, kept, layout), indices(DType::i64, kept, layout);
          fill_ranked(x, 1);
          k.at<std::int64_t>(0) = c.k;
          expect_as_reference(ops::topk_op, {.id = KernelId::topk,
                                             .inputs = {&x, &k},
                                             .outputs = {&values, &indices},
                                             .attrs = {Attr(c.axis), Attr(largest), Attr(1)}});
        }
}

TEST(Moves, Tile) {
  struct Case {
    Shape x, y;
  };
  const std::vector<Case> cases = {{{}, {}},
                                   {{5}, {15}},
                                   {{3, 1}, {3, 8}},
                                   {{4, 100}, {12, 300}},
                                   {{1, 1, 256}, {1, 100, 256}},
                                   {{2, 3, 4}, {6, 3, 8}},
                                   {{2, 3, 40}, {4, 9, 40}},
                                   {{2, 0}, {4, 0}}};
  for (const Case& c : cases)
    for (const DType dtype : kMoved)
      for (const Layout from : kLayouts)
        for (const Layout to : kLayouts) {
          Buffer x(dtype, c.x, from), repeats(DType::i64, {c.x.rank()}), y(dtype, c.y, to);
          fill_bytes(x, 1);
          expect_as_reference(
              ops::tile_op,
              {.id = KernelId::tile, .inputs = {&x, &repeats}, .outputs = {&y}, .attrs = {}},
              /*may_decline=*/c.y.elements() == 0);
        }
}

/// How many different slices there are along an axis, or elements if it is -1. No two elements of
/// different bytes may be equal.
std::int64_t count_groups(Buffer& x, int axis) {
  std::set<std::string> groups;
  std::int64_t inner = 1, size = x.elements();
  for (int i = axis + 1; axis >= 0 && i < x.dims().rank(); ++i) inner *= x.dims()[i];
  if (axis >= 0) size = x.dims()[axis];
  for (std::int64_t slice = 0; slice < size; ++slice) {
    std::string bytes;
    for (std::int64_t i = 0; i < x.elements(); ++i)
      if (axis < 0 ? i == slice : i / inner % size == slice)
        bytes.append(reinterpret_cast<const char*>(x.element(i)), dtype_bytes(x.dtype()));
    groups.insert(bytes);
  }
  return static_cast<std::int64_t>(groups.size());
}

TEST(Moves, Unique) {
  struct Case {
    Shape x;
    int axis;  ///< -1: none
  };
  for (const Case& c : std::vector<Case>{{{1}, -1},
                                         {{24}, -1},
                                         {{40, 5}, -1},
                                         {{700}, -1},
                                         {{30, 2}, 0},
                                         {{3, 50}, 1},
                                         {{2, 40, 3}, 1},
                                         {{20, 30}, 0}})
    for (const DType dtype :
         {DType::boolean, DType::u8, DType::f16, DType::i32, DType::f32, DType::i64, DType::f64})
      for (const Layout layout : kLayouts)
        for (const std::int64_t sorted : {0, 1}) {
          Buffer x(dtype, c.x, layout);
          std::mt19937 random(1);
          for (std::int64_t i = 0; i < x.elements(); ++i) {
            const auto byte = dtype == DType::boolean ? random() % 2 : 0x11 * (1 + random() % 7);
            std::fill_n(x.element(i), dtype_bytes(dtype), static_cast<std::byte>(byte));
          }
          const Attr axis = c.axis < 0 ? Attr() : Attr(c.axis);
          const std::int64_t slices = c.axis < 0 ? c.x.elements() : c.x[c.axis];
          const std::int64_t groups = count_groups(x, c.axis);
          Shape shape = c.axis < 0 ? Shape{groups} : c.x;
          if (c.axis >= 0) shape[c.axis] = groups;
          Buffer y(dtype, shape, layout), first(DType::i64, {groups}, layout),
              inverse(DType::i64, {slices}, layout), counts(DType::i64, {groups}, layout);
          const bool declines = c.axis < 0 && layout != Layout::contiguous;
          expect_as_reference(ops::unique_op,
                              {.id = KernelId::unique,
                               .inputs = {&x},
                               .outputs = {&y, &first, &inverse, &counts},
                               .attrs = {axis, Attr(sorted)}},
                              declines);
        }
}

TEST(Moves, ElementsWithAnIndexOfTheirOwnStopAtOneOutside) {
  Buffer data(DType::f32, {3, 4}), indices(DType::i32, {3, 300}), y(DType::f32, {3, 300});
  data.fill_random(1);
  for (const std::int64_t at : {0, 299, 300, 899})
    for (const std::int32_t index : {4, -5, std::numeric_limits<std::int32_t>::min()}) {
      fill_indices(indices, {4}, 5);
      indices.at<std::int32_t>(at) = index;
      expect_as_reference(ops::gather_elements_op, {.id = KernelId::gather_elements,
                                                    .inputs = {&data, &indices},
                                                    .outputs = {&y},
                                                    .attrs = {Attr(1)}});
      Buffer into(DType::f32, {3, 4});
      for (const char* reduction : {"none", "add"})
        expect_as_reference(ops::scatter_elements_op, {.id = KernelId::scatter_elements,
                                                       .inputs = {&data, &indices, &y},
                                                       .outputs = {&into},
                                                       .attrs = {Attr(1), Attr(reduction)}});
    }
}

/// How many rows the reference writes, which is at most as many as there are boxes.
std::int64_t count_kept(const Use& use) {
  std::vector<std::unique_ptr<Buffer>> results;
  EXPECT_EQ(run_reference_apart(ops::non_max_suppression_op, use, results), "");
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < results[1]->elements(); ++i) kept += results[1]->at<std::int64_t>(i);
  return kept;
}

TEST(Moves, NonMaxSuppression) {
  constexpr std::int64_t kBatches = 2, kClasses = 3, kCount = 150;
  for (const int centered : {0, 1})
    for (const bool thresholds : {false, true})
      for (const std::int64_t most : {0, 1, 20, 1000})
        for (const Layout layout : kLayouts) {
          Buffer boxes(DType::f32, {kBatches, kCount, 4}, layout);
          Buffer scores(DType::f32, {kBatches, kClasses, kCount}, layout);
          Buffer per_class(DType::i64, {1}), iou(DType::f32, {1}), score(DType::f32, {1});
          boxes.fill_random(1);
          fill_ranked(scores, 2);
          per_class.at<std::int64_t>(0) = most;
          iou.at<float>(0) = 0.2F;
          score.at<float>(0) = 0.1F;
          Buffer all(DType::i64, {kBatches * kClasses * kCount, 3}), counts(DType::i64, {kCount});
          Use use{.id = KernelId::non_max_suppression,
                  .inputs = {&boxes, &scores, &per_class, thresholds ? &iou : nullptr,
                             thresholds ? &score : nullptr},
                  .outputs = {&all, &counts},
                  .attrs = {Attr(centered)}};
          Buffer selected(DType::i64, {count_kept(use), 3}, layout);
          use.outputs[0] = &selected;
          expect_as_reference(ops::non_max_suppression_op, use);
        }
}

}  // namespace
}  // namespace scanloom::kernels::testing
