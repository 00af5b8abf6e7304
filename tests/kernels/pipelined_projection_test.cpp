#include "kernels/pipelined_projection.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/simd.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

using tensor::Call;
using tensor::Operand;

/// A loop whose inputs meet one matrix and whose state others.
struct ProjectionCase {
  std::int64_t steps, input, columns, hidden;
  std::vector<std::int64_t> state_columns;
  bool backwards = false;
  Layout layout = Layout::contiguous;  ///< of x
  bool bias = false;
  std::int64_t block = 0;        ///< steps whose rows are stored at a time; 0: all
  bool makes_next = true;        ///< rows of the next block
  std::int64_t walked_rows = 0;  ///< 0: one for each row of x

  [[nodiscard]] std::int64_t rows() const { return block > 0 ? block : steps; }
};

std::vector<float> product(Isa isa, Buffer& a, Buffer& b, bool b_across) {
  const std::int64_t m = a.dims()[0], k = a.dims()[1], n = b.dims()[b_across ? 0 : 1];
  std::vector<float> result;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum = multiply_add(isa, a.at<float>(i * k + l),
                           b.at<float>(b_across ? j * k + l : l * n + j), sum);
      result.push_back(sum);
    }
  return result;
}

/// Imitates binding: queries the kernel, and then runs the calls in the order of the loop.
class Loop {
 public:
  Loop(const ProjectionCase& c, Isa isa)
      : case_(c),
        isa_(isa),
        x_(DType::f32, {c.steps, c.input}, c.layout),
        w_(DType::f32, {c.input, c.columns}),
        rows_(DType::f32, {c.rows(), c.columns}),
        h_(DType::f32, {1, c.hidden}),
        bias_(DType::f32, {c.columns}) {
    unsigned seed = 1;
    for (Buffer* buffer : {&x_, &w_, &h_, &bias_}) buffer->fill_random(seed++);
    for (const std::int64_t n : c.state_columns) {
      r_.push_back(std::make_unique<Buffer>(DType::f32, Shape{n, c.hidden}));
      r_.back()->fill_random(seed++);
      z_.push_back(std::make_unique<Buffer>(DType::f32, Shape{1, n}));
    }
  }

  bool prepare() {
    const std::vector<Operand> inputs{block_of_x(), w_.operand()}, outputs{rows_.operand()};
    const std::vector<const void*> constants{nullptr, w_.element(0)};
    const std::vector<Attr> attrs{Attr(std::string("mk,kn->mn"))};
    const std::vector<Attr> across{Attr(std::string("mk,nk->mn"))};
    std::vector<std::vector<Operand>> in, out;
    std::vector<std::vector<const void*>> known;
    for (std::size_t i = 0; i < r_.size(); ++i) {
      in.push_back({h_.operand(), r_[i]->operand()});
      out.push_back({z_[i]->operand()});
      known.push_back({nullptr, r_[i]->element(0)});
    }
    std::vector<PrepareCtx> steps;
    for (std::size_t i = 0; i < r_.size(); ++i)
      steps.push_back({in[i], out[i], known[i], across, nullptr, &packs_, nullptr, isa_});
    const std::int64_t row = case_.columns * 4;
    RowWalk walk{.step_bytes = row,
                 .rows = case_.walked_rows > 0 ? case_.walked_rows : case_.rows(),
                 .steps = case_.makes_next ? case_.steps : case_.rows()};
    if (case_.backwards) {
      walk.first_bytes = (case_.rows() - 1) * row;
      walk.step_bytes = -row;
    }
    calls_ =
        pipelined_projection({inputs, outputs, constants, attrs, nullptr, &packs_, nullptr, isa_},
                             case_.bias ? &bias_.at<float>(0) : nullptr, walk, steps);
    return calls_.has_value();
  }

  /// Each step reads its own row.
  void run(int threads) {
    expected_ = product(isa_, x_, w_, false);
    for (std::size_t i = 0; i < expected_.size() && case_.bias; ++i)
      expected_[i] += bias_.at<float>(static_cast<std::int64_t>(i) % case_.columns);
    for (const auto& r : r_) expected_of_step_.push_back(product(isa_, h_, *r, true));
    for (std::int64_t first = 0, end = 0; first < case_.steps; first = end) {
      end = first + (first == 0 ? (case_.steps - 1) % case_.rows() + 1 : case_.rows());
      run_block(first, end, threads);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }

  [[nodiscard]] bool writes_elsewhere() { return !rows_.untouched_between(); }
  [[nodiscard]] const PipelinedCalls& calls() const { return *calls_; }

 private:
  void run_block(std::int64_t first, std::int64_t end, int threads) {
    const std::int64_t from_end = case_.steps - case_.rows() - first;
    const Operand x = block_of_x((case_.backwards ? from_end : first) * case_.input);
    execute(calls_->first_rows, {x, w_.operand(), x_.operand()}, {rows_.operand()}, threads);
    for (std::int64_t step = first; step < end; ++step) {
      const std::int64_t in_block = step - first;
      const std::int64_t row = case_.backwards ? case_.rows() - 1 - in_block : in_block;
      std::byte* slice = rows_.element(row * case_.columns);
      Operand slice_operand = rows_.operand();
      slice_operand.slot = &slice;
      slice_operand.offset = 0;
      for (std::size_t i = 0; i < r_.size(); ++i) {
        if (calls_->steps[i].run == nullptr) continue;
        execute(calls_->steps[i], {h_.operand(), r_[i]->operand(), x, slice_operand, x_.operand()},
                {z_[i]->operand(), rows_.operand()}, threads);
        ASSERT_EQ(difference(*z_[i], expected_of_step_[i]), "") << "step " << step;
      }
      const std::int64_t in_all = case_.backwards ? case_.steps - 1 - step : step;
      for (std::int64_t j = 0; j < case_.columns; ++j)
        ASSERT_EQ(rows_.at<float>(row * case_.columns + j),
                  expected_[static_cast<std::size_t>(in_all * case_.columns + j)])
            << "step " << step << ", column " << j;
    }
  }

  /// The rows of x that a block reads, from an element on.
  Operand block_of_x(std::int64_t element = 0) {
    block_begin_ = x_.element(element);
    block_dims_[0] = case_.rows();
    block_dims_[1] = case_.input;
    Operand block = x_.operand();
    block.slot = &block_begin_;
    block.offset = 0;
    block.dims = block_dims_;
    return block;
  }

  static void execute(const PipelinedCall& with, const std::vector<Operand>& inputs,
                      const std::vector<Operand>& outputs, int threads) {
    Call call;
    call.inputs = inputs.data();
    call.outputs = outputs.data();
    call.input_count = static_cast<std::uint16_t>(inputs.size());
    call.output_count = static_cast<std::uint16_t>(outputs.size());
    call.max_threads = static_cast<std::uint16_t>(threads);
    call.prepared = with.prepared.get();
    EXPECT_EQ(with.run(call), tensor::Status::ok);
  }

  const ProjectionCase case_;
  Isa isa_;
  PackCache packs_;
  Buffer x_, w_, rows_, h_, bias_;
  std::vector<std::unique_ptr<Buffer>> r_, z_;
  std::byte* block_begin_ = nullptr;
  std::int64_t block_dims_[2] = {};
  std::vector<float> expected_;
  std::vector<std::vector<float>> expected_of_step_;
  std::optional<PipelinedCalls> calls_;
};

bool is_made(const ProjectionCase& c, Isa isa) { return Loop(c, isa).prepare(); }

void expect_rows(const ProjectionCase& c) {
  for (const Isa isa : available_isas()) {
    if (simd_tables(isa).pipelined_strip == nullptr) {
      EXPECT_FALSE(is_made(c, isa)) << isa_name(isa);
      continue;
    }
    for (const int threads : {1, 2, 7}) {
      Loop loop(c, isa);
      ASSERT_TRUE(loop.prepare());
      loop.run(threads);
      EXPECT_FALSE(loop.writes_elsewhere());
    }
  }
}

TEST(PipelinedProjection, AnyNumberOfSteps) {
  for (const std::int64_t steps : {32, 33, 47, 48, 70})
    for (const bool backwards : {false, true}) expect_rows({steps, 48, 192, 48, {192}, backwards});
}

TEST(PipelinedProjection, OtherWidthsThanTheState) {
  for (const std::int64_t input : {2, 7, 24, 100, 200, 700})
    expect_rows({40, input, 192, 48, {192}});
  for (const std::int64_t columns : {32, 33, 64, 100, 400, 1000})
    expect_rows({40, 48, columns, 50, {200}});
}

TEST(PipelinedProjection, SeveralProductsOfTheState) {
  expect_rows({50, 96, 288, 96, {192, 96}});
  expect_rows({50, 64, 210, 70, {140, 8, 150}, true});  // a small one stays
}

TEST(PipelinedProjection, ABias) {
  for (const std::int64_t columns : {64, 100, 192, 200})
    for (const bool backwards : {false, true})
      expect_rows({50, 30, columns, 64, {192}, backwards, Layout::contiguous, true});
}

// The first block has what the others leave over: fewer steps than are made ahead, whole chunks and
// steps before these, or as many as the others.
TEST(PipelinedProjection, BlocksThatMakeRowsOfTheNext) {
  const auto expect_blocks = [](std::int64_t block, std::int64_t first, bool backwards) {
    expect_rows({.steps = first + 2 * block,
                 .input = 24,
                 .columns = 200,
                 .hidden = 48,
                 .state_columns = {192},
                 .backwards = backwards,
                 .bias = first == 17,
                 .block = block});
  };
  for (const bool backwards : {false, true}) {
    for (const std::int64_t first : {1, 15, 16, 17, 31, 32}) expect_blocks(32, first, backwards);
    for (const std::int64_t first : {1, 31, 33, 40, 47, 48}) expect_blocks(48, first, backwards);
  }
}

TEST(PipelinedProjection, BlocksAndThreadsThatShareProducts) {
  for (const std::int64_t steps : {100, 130})
    expect_rows({.steps = steps,
                 .input = 60,
                 .columns = 700,
                 .hidden = 160,
                 .state_columns = {650, 200},
                 .block = 48});
}

TEST(PipelinedProjection, BlocksThatAreMadeByThemselves) {
  for (const bool backwards : {false, true}) {
    expect_rows({.steps = 129,  // blocks that have no whole chunks
                 .input = 24,
                 .columns = 192,
                 .hidden = 48,
                 .state_columns = {192},
                 .backwards = backwards,
                 .block = 43});
    for (const std::int64_t steps : {96, 111})
      expect_rows({.steps = steps,
                   .input = 24,
                   .columns = 192,
                   .hidden = 48,
                   .state_columns = {192},
                   .backwards = backwards,
                   .block = 48,
                   .makes_next = false});
  }
}

TEST(PipelinedProjection, ProductsThatThreadsShare) { expect_rows({40, 60, 700, 160, {650, 200}}); }

TEST(PipelinedProjection, OnlyWhereItPays) {
  const Isa isa = active_isa();
  if (simd_tables(isa).pipelined_strip == nullptr)
    GTEST_SKIP() << "no input projection is pipelined on this machine";
  EXPECT_TRUE(is_made({32, 48, 192, 48, {192}}, isa));
  EXPECT_FALSE(is_made({31, 48, 192, 48, {192}}, isa));  // few steps
  EXPECT_FALSE(is_made({32, 48, 16, 48, {192}}, isa));   // no whole panel
  EXPECT_FALSE(is_made({32, 48, 192, 32, {128}}, isa));  // weights that stay in the cache
  EXPECT_FALSE(is_made({32, 48, 192, 48, {}}, isa));     // no product of the state
  EXPECT_FALSE(is_made({32, 48, 192, 48, {192}, false, Layout::gapped}, isa));
  ProjectionCase two_rows_a_step{64, 48, 192, 48, {192}};
  two_rows_a_step.walked_rows = 32;
  EXPECT_FALSE(is_made(two_rows_a_step, isa));
}

TEST(PipelinedProjection, CallsSayWhatTheyDo) {
  if (simd_tables(active_isa()).pipelined_strip == nullptr) GTEST_SKIP() << "no such call";
  Loop loop({64, 96, 288, 96, {192, 96}}, active_isa());
  ASSERT_TRUE(loop.prepare());
  EXPECT_EQ(loop.calls().steps[0].products + loop.calls().steps[1].products, 96 * 288);
  EXPECT_EQ(loop.calls().a_input, 0);
}

}  // namespace
}  // namespace scanloom::kernels::testing
