// Every way to execute a module must give the interpreter's bits: stepped, compiled, with one, two
// and seven threads, on every instruction set of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "api/jit_plugin.h"
#include "base/cpu.h"
#include "interp/interpreter.h"
#include "ir/parse.h"
#include "ir/verify.h"
#include "ops/ops.h"
#include "passes/run.h"
#include "plan/plan.h"
#include "tests/differential/ways.h"

namespace scanloom {
namespace {

using namespace differential;
using tensor::Tensor;

std::string name_of(const std::string& text) {
  const std::size_t begin = text.find('"') + 1;
  return text.substr(begin, text.find('"', begin) - begin);
}

struct Way {
  Isa isa;
  bool optimised;
  bool speculated = false;  ///< also with steps that are computed ahead
};

/// The module of a case as that way runs it.
Expected<ir::Module> module_of(const std::string& text, const Way& way) {
  SCANLOOM_TRY(ir::Module module, ir::parse(text, ops::find_op));
  SCANLOOM_CHECK_OK(ir::verify(module));
  if (way.optimised) SCANLOOM_CHECK_OK(passes::run(module, {.verify_each = true}));
  return module;
}

/// Cases whose sums accumulate_as_product takes in another order: it changes the last bits, which
/// is what it says of itself. Everywhere else the bits stay.
bool sums_in_another_order(const std::string& name) { return name.starts_with("sums_of_products"); }

/// The feeds without their signs: what bounds the magnitudes in modules that do not subtract.
std::vector<Tensor> magnitudes_of(std::vector<Tensor> feeds) {
  for (Tensor& feed : feeds) {
    if (feed.dtype() == DType::f32)
      for (std::int64_t i = 0; i < feed.elements(); ++i)
        static_cast<float*>(feed.mutable_data())[i] = std::abs(feed.as<float>()[i]);
    if (feed.dtype() == DType::f64)
      for (std::int64_t i = 0; i < feed.elements(); ++i)
        static_cast<double*>(feed.mutable_data())[i] = std::abs(feed.as<double>()[i]);
  }
  return feeds;
}

#ifdef SCANLOOM_SANITIZED
constexpr std::int64_t kLengths[] = {0, 1, 2, 3, 17};
#else
constexpr std::int64_t kLengths[] = {0, 1, 2, 3, 17, 300};
#endif

/// Fails the test unless both are equal within 32 ulp of the sum of the magnitudes of the terms.
template <class T>
void expect_near(const Tensor& got, const Tensor& wanted, const Tensor& magnitudes,
                 const std::string& where) {
  ASSERT_EQ(got.shape(), wanted.shape()) << where;
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.elements()); ++i)
    ASSERT_NEAR(got.as<T>()[i], wanted.as<T>()[i],
                32 * std::numeric_limits<T>::epsilon() * magnitudes.as<T>()[i])
        << where << ", element " << i;
}

/// Like check_passes_keep_bits, for sums.
void check_sums(const ir::Module& before, const ir::Module& after, const std::string& where) {
  for (const std::int64_t length : kLengths) {
    const std::vector<Tensor> feeds = feeds_of(before, length);
    const auto magnitudes = interp::interpret(before, magnitudes_of(feeds), {});
    const auto wanted = interp::interpret(before, feeds, {});
    const auto got = interp::interpret(after, feeds, {});
    ASSERT_TRUE(magnitudes && wanted && got) << where;
    for (std::size_t i = 0; i < wanted->size(); ++i) {
      const std::string at = where + ", length " + std::to_string(length);
      if ((*wanted)[i].dtype() == DType::f32)
        expect_near<float>((*got)[i], (*wanted)[i], (*magnitudes)[i], at);
      else
        expect_near<double>((*got)[i], (*wanted)[i], (*magnitudes)[i], at);
    }
  }
}

/// Passes keep the bits, and the errors of a run as far as there is one.
void check_passes_keep_bits(const std::string& text, const std::string& where) {
  const Expected<ir::Module> before = module_of(text, {active_isa(), false});
  const Expected<ir::Module> after = module_of(text, {active_isa(), true});
  ASSERT_TRUE(before && after) << where;
  if (sums_in_another_order(name_of(text))) return check_sums(*before, *after, where);
  for (const std::int64_t length : kLengths) {
    const std::vector<Tensor> feeds = feeds_of(*before, length);
    const auto wanted = interp::interpret(*before, feeds, {});
    const auto got = interp::interpret(*after, feeds, {});
    ASSERT_EQ(got.has_value(), wanted.has_value()) << where << ", length " << length;
    for (std::size_t i = 0; wanted && i < wanted->size(); ++i)
      expect_identical((*got)[i], (*wanted)[i],
                       where + ", length " + std::to_string(length) + ", before and after passes");
  }
}

/// All lengths and numbers of threads: without machine code, with it, and with steps that are
/// computed ahead.
void check_case(const std::string& text, const Way& way) {
  const std::string where =
      name_of(text) + ", " + std::string(isa_name(way.isa)) + (way.optimised ? ", passes" : "");
  const Expected<ir::Module> module = module_of(text, way);
  ASSERT_TRUE(module) << where << ": " << module.error().message();
  std::string why_not;
  const jit::Plugin* const compiler = jit_compiler(why_not);
  std::vector plans = {plan_of(*module, nullptr), plan_of(*module, compiler)};
  if (way.speculated) plans.push_back(plan_of(*module, compiler, plan::SpeculationMode::always));
  for (const std::int64_t length : kLengths) {
    const std::vector<Tensor> feeds = feeds_of(*module, length);
    const auto wanted = interp::interpret(*module, feeds, {});
    for (const auto& plan : plans) {
      std::string strategies;
      const BoundPlan binding = bind_planned(plan, feeds, strategies);
      for (const int threads : {1, 2, 7}) {
        const auto got = run_bound(binding, feeds, threads);
        const std::string at = where + ", length " + std::to_string(length) + ", " +
                               std::to_string(threads) + " threads\n" + strategies;
        ASSERT_EQ(got.has_value(), wanted.has_value())
            << at << (got ? wanted.error().message() : got.error().message());
        if (!wanted) continue;
        for (std::size_t i = 0; i < wanted->size(); ++i)
          expect_identical((*got)[i], (*wanted)[i], at + "output " + std::to_string(i));
      }
    }
  }
}

class Ways : public testing::TestWithParam<std::string> {
 protected:
  ~Ways() override { mask_isa_for_test(best_); }

  void check_every_isa(const std::string& text) {
    for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::neon}) {
      mask_isa_for_test(isa);
      if (active_isa() != isa) continue;
#ifdef SCANLOOM_SANITIZED
      if (isa != best_) continue;  // what is watched is the same code for each of them
#endif
      for (const bool optimised : {false, true})
        if (check_case(text, {isa, optimised, optimised && isa == best_}); HasFatalFailure())
          return;
    }
  }
  const Isa best_ = active_isa();
};

TEST_P(Ways, AgreeToTheBit) { check_every_isa(GetParam()); }

TEST_P(Ways, PassesKeepTheBits) { check_passes_keep_bits(GetParam(), name_of(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Cases, Ways, testing::ValuesIn(read_cases()),
                         [](const auto& info) { return name_of(info.param); });

// A case with an allowance for sums must need it: the pass fires, and changes bits on its own.
TEST(SumsOfProducts, StandBehindTheLoopAndKeepTheBitsWithoutThePass) {
  int cases = 0;
  for (const std::string& text : read_cases()) {
    if (!sums_in_another_order(name_of(text))) continue;
    ++cases;
    Expected<ir::Module> with = ir::parse(text, ops::find_op), without = with;
    ASSERT_TRUE(with && without);
    const ir::Module before = *with;
    const auto report = passes::run(*with);
    ASSERT_TRUE(report);
    const auto timing =
        std::ranges::find(report->timings, "accumulate_as_product", &passes::PassTiming::pass);
    ASSERT_NE(timing, report->timings.end());
    EXPECT_GT(timing->changed, 0) << name_of(text);
    ASSERT_TRUE(passes::run(*without, {.disabled = {"accumulate_as_product"}}));
    const std::vector<Tensor> feeds = feeds_of(before, 17);
    const auto wanted = interp::interpret(before, feeds, {});
    const auto got = interp::interpret(*without, feeds, {});
    ASSERT_TRUE(wanted && got);
    for (std::size_t i = 0; i < wanted->size(); ++i)
      expect_identical((*got)[i], (*wanted)[i], name_of(text));
  }
  EXPECT_EQ(cases, 3);
}

/// Returns how the loops of a case are executed over 300 steps, or "" if it does not run.
std::string strategies_of(const std::string& text) {
  std::string why_not, strategies;
  const Expected<ir::Module> module = module_of(text, {active_isa(), true});
  if (!module) return {};
  const auto plan = plan_of(*module, jit_compiler(why_not));
  if (!run_planned(plan, feeds_of(*module, 300), 1, strategies)) return {};
  return strategies;
}

// The compiled strategy must really be taken where it applies.
TEST(Strategy, CompiledWhereTheBodyIsOneElementProgram) {
  std::string why_not;
  if (jit_compiler(why_not) == nullptr) GTEST_SKIP() << why_not;
  for (const std::string& text : read_cases()) {
    const std::string name = name_of(text);
    const bool has_lanes = name == "lanes" || name.starts_with("left_over_lanes");
    if (name != "ema" && name != "counter" && name != "biquad" && !has_lanes) continue;
    const std::string strategies = strategies_of(text);
    EXPECT_TRUE(strategies.starts_with("compiled")) << name << ": " << strategies;
  }
}

/// Fails the test unless the loops of these cases are executed in a way that begins so.
void expect_strategies(std::set<std::string> names, const std::string& beginning) {
  std::string why_not;
  if (jit_compiler(why_not) == nullptr) GTEST_SKIP() << why_not;
  for (const std::string& text : read_cases()) {
    const std::string name = name_of(text);
    if (names.erase(name) == 0) continue;
    const std::string strategies = strategies_of(text);
    EXPECT_TRUE(strategies.starts_with(beginning)) << name << ": " << strategies;
  }
  EXPECT_THAT(names, testing::IsEmpty());
}

// So must the code of bodies, kernels called from it included.
TEST(Strategy, OtherBodiesAreCompiledStepByStep) {
  const std::set<std::string> names = {
      "rnn",
      "lstm_cell",
      "branch_in_loop",
      "log_sum_exp_over_a_matrix",
      "small_products_of_f64",
      "kernel_between_nests",
      "stopped_by_a_norm",
      "states_of_several_kinds",
      "special_values_reduced",
      "wide_products",
      "indices_of_min_max",
      "sums_of_exponentials",
      "shifts",
      "tiny_matrices",
      "factors_in_a_loop",
      "blocks_in_a_step",
      "loops_that_stop_when_they_have_converged",
      "loops_in_branches_three_deep",
      "counted_loops_in_a_loop_of_a_branch",
  };
  expect_strategies(names, "compiled per step");
}

// And code between what cannot be code.
TEST(Strategy, PartsOfBodiesAreCompiledWhereTheWholeCannotBe) {
  expect_strategies({"parts_around_sizes_of_the_data", "parts_in_sides_of_a_branch",
                     "parts_that_hand_on_places", "parts_beside_a_state_that_grows"},
                    "compiled in outlined regions");
}

}  // namespace
}  // namespace scanloom
