// Every way to execute a module must give the interpreter's bits: stepped, compiled, with one, two
// and seven threads, on every instruction set of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
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

std::vector<std::string> read_cases() {
  std::ifstream file(std::string(SCANLOOM_TEST_DIR) + "/differential/cases.ir");
  std::vector<std::string> cases(1);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("----")) {
      cases.emplace_back();
    } else if (!line.starts_with("//")) {
      cases.back() += line + "\n";
    }
  }
  return cases;
}

std::string name_of(const std::string& text) {
  const std::size_t begin = text.find('"') + 1;
  return text.substr(begin, text.find('"', begin) - begin);
}

struct Way {
  Isa isa;
  bool optimised;
};

/// The module of a case as that way runs it.
Expected<ir::Module> module_of(const std::string& text, const Way& way) {
  SCANLOOM_TRY(ir::Module module, ir::parse(text, ops::find_op));
  SCANLOOM_CHECK_OK(ir::verify(module));
  if (way.optimised) SCANLOOM_CHECK_OK(passes::run(module, {.verify_each = true}));
  return module;
}

/// Passes keep the bits, and the errors of a run as far as there is one.
void check_passes(const std::string& text, const std::string& where) {
  const Expected<ir::Module> before = module_of(text, {active_isa(), false});
  const Expected<ir::Module> after = module_of(text, {active_isa(), true});
  ASSERT_TRUE(before && after) << where;
  for (const std::int64_t length : {0, 1, 2, 3, 17, 300}) {
    const std::vector<Tensor> feeds = feeds_of(*before, length);
    const auto wanted = interp::interpret(*before, feeds, {});
    const auto got = interp::interpret(*after, feeds, {});
    ASSERT_EQ(got.has_value(), wanted.has_value()) << where << ", length " << length;
    for (std::size_t i = 0; wanted && i < wanted->size(); ++i)
      expect_identical((*got)[i], (*wanted)[i],
                       where + ", length " + std::to_string(length) + ", before and after passes");
  }
}

/// All lengths and numbers of threads, with machine code and without.
void check_case(const std::string& text, const Way& way) {
  const std::string where =
      name_of(text) + ", " + std::string(isa_name(way.isa)) + (way.optimised ? ", passes" : "");
  const Expected<ir::Module> module = module_of(text, way);
  ASSERT_TRUE(module) << where << ": " << module.error().message();
  std::string why_not;
  for (const jit::Plugin* const compiler :
       {static_cast<const jit::Plugin*>(nullptr), jit_compiler(why_not)}) {
    const std::shared_ptr<const plan::Plan> plan = plan_of(*module, compiler);
    for (const std::int64_t length : {0, 1, 2, 3, 17, 300}) {
      const std::vector<Tensor> feeds = feeds_of(*module, length);
      const auto wanted = interp::interpret(*module, feeds, {});
      for (const int threads : {1, 2, 7}) {
        std::string strategies;
        const auto got = run_planned(plan, feeds, threads, strategies);
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
  const Isa best_ = active_isa();
};

TEST_P(Ways, AgreeToTheBit) {
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::neon}) {
    mask_isa_for_test(isa);
    if (active_isa() != isa) continue;
    for (const bool optimised : {false, true})
      if (check_case(GetParam(), {isa, optimised}); HasFatalFailure()) return;
  }
}

TEST_P(Ways, PassesKeepTheBits) { check_passes(GetParam(), name_of(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Cases, Ways, testing::ValuesIn(read_cases()),
                         [](const auto& info) { return name_of(info.param); });

/// How the loops of a case are executed over 300 steps; empty when it does not run.
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
    if (name != "ema" && name != "counter" && name != "biquad" && name != "lanes") continue;
    const std::string strategies = strategies_of(text);
    EXPECT_TRUE(strategies.starts_with("compiled")) << name << ": " << strategies;
  }
}

// So must the code of bodies, kernels called from it included.
TEST(Strategy, OtherBodiesAreCompiledStepByStep) {
  std::string why_not;
  if (jit_compiler(why_not) == nullptr) GTEST_SKIP() << why_not;
  std::set<std::string> names = {
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
      "indices_of_extremes",
      "sums_of_exponentials",
      "shifts",
      "tiny_matrices",
      "blocks_in_a_step",
  };
  for (const std::string& text : read_cases()) {
    const std::string name = name_of(text);
    if (names.erase(name) == 0) continue;
    const std::string strategies = strategies_of(text);
    EXPECT_TRUE(strategies.starts_with("compiled step by step")) << name << ": " << strategies;
  }
  EXPECT_THAT(names, testing::IsEmpty());
}

}  // namespace
}  // namespace scanloom
