// Every way to execute a module must give the interpreter's bits: stepped, compiled, with one, two
// and seven threads, on every instruction set of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <sstream>

#include "api/jit_plugin.h"
#include "base/cpu.h"
#include "interp/interpreter.h"
#include "ir/infer.h"
#include "ir/parse.h"
#include "ir/verify.h"
#include "ops/ops.h"
#include "passes/run.h"
#include "plan/plan.h"
#include "runtime/run.h"

namespace scanloom {
namespace {

using tensor::Shape;
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

/// Values around zero; lengths for symbols and for scalars of i64.
Tensor make_feed(const ir::Type& type, std::int64_t length, std::mt19937& random) {
  Shape shape;
  for (const tensor::Dim dim : type.dims) shape.push_back(dim.is_constant() ? dim.value() : length);
  Tensor tensor = *Tensor::zeros(type.dtype, shape);
  const bool is_length = type.dtype == DType::i64 && shape.rank() == 0;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const auto bits = static_cast<std::int32_t>(random());
    if (type.dtype == DType::f32)
      static_cast<float*>(tensor.mutable_data())[i] = static_cast<float>(bits) * 0x1p-30f;
    if (type.dtype == DType::f64)
      static_cast<double*>(tensor.mutable_data())[i] = static_cast<double>(bits) * 0x1p-33;
    if (type.dtype == DType::boolean)
      static_cast<bool*>(tensor.mutable_data())[i] = (bits & 1) != 0;
    if (type.dtype == DType::i32) static_cast<std::int32_t*>(tensor.mutable_data())[i] = bits;
    if (type.dtype == DType::i64)
      static_cast<std::int64_t*>(tensor.mutable_data())[i] = is_length ? length : bits % 5;
  }
  return tensor;
}

/// Equal bits; any NaN equals any other.
void expect_identical(const Tensor& got, const Tensor& wanted, const std::string& where) {
  ASSERT_EQ(got.dtype(), wanted.dtype()) << where;
  ASSERT_EQ(got.shape(), wanted.shape())
      << where << ": " << got.shape().to_string() << " " << wanted.shape().to_string();
  if (wanted.dtype() == DType::string) {
    ASSERT_TRUE(tensor::identical(got, wanted)) << where;
    return;
  }
  if (wanted.dtype() == DType::f32) {
    for (std::int64_t i = 0; i < wanted.elements(); ++i) {
      const float a = got.as<float>()[static_cast<std::size_t>(i)];
      const float b = wanted.as<float>()[static_cast<std::size_t>(i)];
      if (std::isnan(a) && std::isnan(b)) continue;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(a), std::bit_cast<std::uint32_t>(b))
          << where << ", element " << i << ": " << a << " and " << b;
    }
    return;
  }
  ASSERT_EQ(std::memcmp(got.data(), wanted.data(), wanted.bytes()), 0) << where;
}

std::shared_ptr<const plan::Plan> plan_of(const ir::Module& module, const jit::Plugin* compiler) {
  plan::PlanOptions options;
  options.compiler = compiler;
  options.always_compile = true;
  return plan::make_plan(module, options);
}

Expected<std::vector<Tensor>> run_planned(const std::shared_ptr<const plan::Plan>& plan,
                                          const std::vector<Tensor>& feeds, int threads,
                                          std::string& strategies) {
  std::vector<Shape> shapes;
  std::vector<const std::byte*> data;
  for (const Tensor& feed : feeds) {
    shapes.push_back(feed.shape());
    data.push_back(static_cast<const std::byte*>(feed.data()));
  }
  auto binding = plan::bind(plan, shapes);
  if (!binding) return std::move(binding).error();
  for (const plan::BoundLoop& loop : (*binding)->loops) strategies += loop.strategy + "\n";
  auto run = runtime::Run::make(*binding, 0, threads);
  if (!run) return std::move(run).error();
  std::vector<Tensor> first;
  // Twice: a Run is used again, and nothing of the run before may show.
  for (int i = 0; i < 2; ++i) {
    auto result = (*run)->execute(data, {});
    if (!result) return std::move(result).error();
    for (std::size_t k = 0; k < result->outputs.size(); ++k)
      if (result->objects[k]) result->outputs[k] = result->objects[k]->tensor();
    if (i == 1)
      for (std::size_t k = 0; k < first.size(); ++k)
        expect_identical(result->outputs[k], first[k], "second run");
    first = result->outputs;
  }
  return first;
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

/// Among the others, those that go wrong.
void add_special_values(Tensor& tensor) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {0,          -0.0F,  kInfinity,
                                -kInfinity, 1e-40F, std::numeric_limits<float>::quiet_NaN()};
  if (tensor.dtype() != DType::f32) return;
  for (std::int64_t i = 0; i < tensor.elements(); i += 17)
    static_cast<float*>(tensor.mutable_data())[i] =
        kSpecial[static_cast<std::size_t>(i / 17) % std::size(kSpecial)];
}

std::vector<Tensor> feeds_of(const ir::Module& module, std::int64_t length) {
  std::mt19937 random(7);
  std::vector<Tensor> feeds;
  for (const ir::ValueId id : module.region(module.top()).args)
    feeds.push_back(make_feed(module.value(id).type, length, random));
  if (module.name.starts_with("special"))
    for (Tensor& feed : feeds) add_special_values(feed);
  return feeds;
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
