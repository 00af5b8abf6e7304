// Convolutions that one call computes (kernels/conv_pair.h) give the interpreter's bits: with every
// instruction set, with one, two and seven threads.
#include <gtest/gtest.h>

#include <string>

#include "base/cpu.h"
#include "interp/interpreter.h"
#include "ir/parse.h"
#include "kernels/conv_blocks.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "tests/differential/ways.h"

namespace scanloom {
namespace {

using namespace differential;
using tensor::Shape;

/// "%id = constant f32[...] [...]", with small numbers that round.
std::string constant(const std::string& id, const Shape& shape) {
  std::string text = "    %" + id + " = constant f32" + shape.to_string() + " [";
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(static_cast<double>(i * 37 % 101 - 50) / 64.1);
  return text + "]\n";
}

/// A convolution of one position, then one of single channels, then another of one position, with
/// element-wise nodes between them.
struct Chain {
  std::string name;
  Shape x, first, between, second, after;
  std::string attrs;  ///< of the second convolution
  std::string before_second,
      after_second;  ///< operators after the first and the second: of %a, of %b
  bool is_pair = true;
  std::string head = {};  ///< computes %9, which the first convolution reads instead of %0
};

std::string text_of(const Chain& chain) {
  const std::int64_t channels = chain.between[1];
  const auto with = [](const std::string& operation, const std::string& value, const Shape& shape) {
    if (operation.empty()) return std::string();
    return "    %" + value + "1 = " + operation + " : f32" + shape.to_string() + "\n";
  };
  const std::string a = chain.before_second.empty() ? "10" : "101",
                    b = chain.after_second.empty() ? "20" : "201";
  Shape last = chain.after;
  last[1] = 32;
  return "module \"" + chain.name + "\" {\n  graph(%0 \"x\": f32" + chain.x.to_string() + ") {\n" +
         constant("1", chain.first) + constant("2", {channels}) + constant("3", chain.second) +
         constant("4", {channels}) + constant("5", {32, channels, 1, 1}) +
         constant("6", {1, channels, 1, 1}) + constant("7", {}) + chain.head + "    %10 = conv(%" +
         (chain.head.empty() ? "0" : "9") + ", %1, %2) {group = 1} : f32" +
         chain.between.to_string() + "\n" + with(chain.before_second, "10", chain.between) +
         "    %20 = conv(%" + a + ", %3, %4) {" + chain.attrs +
         ", group = " + std::to_string(channels) + "} : f32" + chain.after.to_string() + "\n" +
         with(chain.after_second, "20", chain.after) + "    %30 = conv(%" + b +
         ", %5) {group = 1} : f32" + last.to_string() + "\n    yield %30 \"y\"\n  }\n}\n";
}

const Chain kChains[] = {
    {"pads",
     {1, 16, 48, 47},
     {32, 16, 1, 1},
     {1, 32, 48, 47},
     {32, 1, 3, 3},
     {1, 32, 48, 47},
     "pads = [1, 1, 1, 1]",
     "relu(%10)",
     "relu(%20)"},
    {"strides_and_images",
     {2, 5, 41, 50},
     {48, 5, 1, 1},
     {2, 48, 41, 50},
     {48, 1, 5, 3},
     {2, 48, 20, 25},
     "pads = [1, 1, 2, 1], strides = [2, 2]",
     "",
     "mul(%20, %6)"},
    {"dilations_and_uneven_pads",
     {1, 24, 60, 30},
     {64, 24, 1, 1},
     {1, 64, 60, 30},
     {64, 1, 3, 2},
     {1, 64, 59, 15},
     "dilations = [3, 2], pads = [0, 1, 5, 0], strides = [1, 2]",
     "mul(%10, %6)",
     "sigmoid(%20)"},
    {"a_gap_between_positions",
     {1, 16, 30, 30},
     {128, 16, 1, 1},
     {1, 128, 30, 30},
     {128, 1, 3, 3},
     {1, 128, 30, 30},
     "pads = [1, 1, 1, 1]",
     "relu(%10)",
     ""},
    // Blocks of filters overlap, also where sums are continued.
    {"filters_that_do_not_fill_vectors",
     {1, 520, 32, 32},
     {72, 520, 1, 1},
     {1, 72, 32, 32},
     {72, 1, 3, 3},
     {1, 72, 32, 32},
     "pads = [1, 1, 1, 1]",
     "relu(%10)",
     "mul(%20, %6)"},
    {"columns_that_no_window_meets",
     {1, 16, 48, 47},
     {32, 16, 1, 1},
     {1, 32, 48, 47},
     {32, 1, 3, 3},
     {1, 32, 48, 9},
     "pads = [1, 0, 1, 0], strides = [1, 5]",
     "relu(%10)",
     ""},
    {"rows_with_gaps_between_them",
     {1, 16, 48, 60},
     {32, 16, 1, 1},
     {1, 32, 48, 47},
     {32, 1, 3, 3},
     {1, 32, 48, 9},
     "pads = [1, 0, 1, 0], strides = [1, 5]",
     "relu(%10)",
     "",
     false,
     "    %91 = constant i64[1] [0]\n    %92 = constant i64[1] [47]\n    %93 = constant i64[1] "
     "[3]\n"
     "    %9 = slice(%0, %91, %92, %93) : f32[1,16,48,47]\n"},
    // What follows the first convolution reads its own elements again, so it is no end of a tile.
    {"another_program_between",
     {1, 16, 48, 48},
     {32, 16, 1, 1},
     {1, 32, 48, 48},
     {32, 1, 3, 3},
     {1, 32, 48, 48},
     "pads = [1, 1, 1, 1]",
     "cos(%10)",
     "",
     false},
    {"a_first_result_that_stays_in_the_cache",
     {1, 16, 20, 20},
     {32, 16, 1, 1},
     {1, 32, 20, 20},
     {32, 1, 3, 3},
     {1, 32, 20, 20},
     "pads = [1, 1, 1, 1]",
     "relu(%10)",
     "",
     false},
};

class ConvPairs : public testing::TestWithParam<Chain> {
 protected:
  ~ConvPairs() override { mask_isa_for_test(best_); }

  const Isa best_ = active_isa();
};

TEST_P(ConvPairs, KeepBits) {
  const auto module = ir::parse(text_of(GetParam()), ops::find_op);
  ASSERT_TRUE(module) << module.error().message();
  const auto feeds = feeds_of(*module, 1);
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::neon}) {
    mask_isa_for_test(isa);
    if (active_isa() != isa) continue;
#ifdef SCANLOOM_SANITIZED
    if (isa != best_) continue;  // what is watched is the same code for each of them
#endif
    const auto wanted = interp::interpret(*module, feeds, {});
    ASSERT_TRUE(wanted) << wanted.error().message();
    std::string strategies;
    const BoundPlan bound = bind_planned(plan_of(*module, nullptr), feeds, strategies);
    ASSERT_TRUE(bound) << bound.error().message();
    bool has_pair = false;
    for (const plan::BoundCall& call : (*bound)->calls)
      has_pair |= call.kernel == kernels::KernelId::conv_pair;
    EXPECT_EQ(has_pair, GetParam().is_pair && kernels::conv_block_fns<float>(isa).broadcasts)
        << isa_name(isa);
    for (const int threads : {1, 2, 7}) {
      const auto got = run_bound(bound, feeds, threads);
      ASSERT_TRUE(got) << got.error().message();
      expect_identical((*got)[0], (*wanted)[0],
                       std::string(isa_name(isa)) + ", threads " + std::to_string(threads));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chains, ConvPairs, testing::ValuesIn(kChains),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace scanloom
