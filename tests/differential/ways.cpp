#include "tests/differential/ways.h"

#include <gtest/gtest.h>
#include <fstream>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "plan/binding.h"
#include "runtime/run.h"
#include "tensor/scalar_eval.h"
#include "tensor/small_float.h"

namespace scanloom::differential {
namespace {

using tensor::Shape;
using tensor::Tensor;

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
    if (type.dtype == DType::f16 || type.dtype == DType::bf16)
      static_cast<std::uint16_t*>(tensor.mutable_data())[i] = static_cast<std::uint16_t>(
          tensor::scalar_bits(static_cast<double>(bits) * 0x1p-30, type.dtype));
    if (type.dtype == DType::boolean)
      static_cast<bool*>(tensor.mutable_data())[i] = (bits & 1) != 0;
    if (type.dtype == DType::i32) static_cast<std::int32_t*>(tensor.mutable_data())[i] = bits;
    if (type.dtype == DType::i64)
      static_cast<std::int64_t*>(tensor.mutable_data())[i] = is_length ? length : bits % 5;
  }
  return tensor;
}

/// Among the others, those that go wrong.
void add_special_values(Tensor& tensor) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {0,          -0.0F,  kInfinity,
                                -kInfinity, 1e-40F, std::numeric_limits<float>::quiet_NaN()};
  const bool half = tensor.dtype() == DType::f16 || tensor.dtype() == DType::bf16;
  if (tensor.dtype() != DType::f32 && !half) return;
  for (std::int64_t i = 0; i < tensor.elements(); i += 17) {
    const float value = kSpecial[static_cast<std::size_t>(i / 17) % std::size(kSpecial)];
    const std::uint64_t bits = tensor::scalar_bits(double{value}, tensor.dtype());
    std::memcpy(static_cast<std::byte*>(tensor.mutable_data()) +
                    static_cast<std::size_t>(i) * dtype_bytes(tensor.dtype()),
                &bits, dtype_bytes(tensor.dtype()));
  }
}

/// Compares floats of any width.
template <class T, class Bits>
void expect_identical_floats(const Tensor& got, const Tensor& wanted, const std::string& where) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.elements()); ++i) {
    const T a = got.as<T>()[i], b = wanted.as<T>()[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    ASSERT_EQ(std::bit_cast<Bits>(a), std::bit_cast<Bits>(b))
        << where << ", element " << i << ": " << a << " and " << b;
  }
}

template <class Half>
void expect_identical_f16(const Tensor& got, const Tensor& wanted, const std::string& where) {
  for (std::int64_t i = 0; i < wanted.elements(); ++i) {
    const Half a = static_cast<const Half*>(got.data())[i];
    const Half b = static_cast<const Half*>(wanted.data())[i];
    if (std::isnan(a.to_float()) && std::isnan(b.to_float())) continue;
    ASSERT_EQ(a.bits, b.bits) << where << ", element " << i << ": " << a.to_float() << " and "
                              << b.to_float();
  }
}

}  // namespace

std::vector<Tensor> feeds_of(const ir::Module& module, std::int64_t length) {
  std::mt19937 random(7);
  std::vector<Tensor> feeds;
  for (const ir::ValueId id : module.region(module.top()).args)
    feeds.push_back(make_feed(module.value(id).type, length, random));
  if (module.name.starts_with("special"))
    for (Tensor& feed : feeds) add_special_values(feed);
  return feeds;
}

void expect_identical(const Tensor& got, const Tensor& wanted, const std::string& where) {
  ASSERT_EQ(got.dtype(), wanted.dtype()) << where;
  ASSERT_EQ(got.shape(), wanted.shape())
      << where << ": " << got.shape().to_string() << " " << wanted.shape().to_string();
  if (wanted.dtype() == DType::string) {
    ASSERT_TRUE(tensor::identical(got, wanted)) << where;
    return;
  }
  // Elements are looked at one by one only to find NaN, or to name the one that differs.
  if (std::memcmp(got.data(), wanted.data(), wanted.bytes()) == 0) return;
  if (wanted.dtype() == DType::f32)
    return expect_identical_floats<float, std::uint32_t>(got, wanted, where);
  if (wanted.dtype() == DType::f64)
    return expect_identical_floats<double, std::uint64_t>(got, wanted, where);
  if (wanted.dtype() == DType::f16) return expect_identical_f16<tensor::Half>(got, wanted, where);
  if (wanted.dtype() == DType::bf16)
    return expect_identical_f16<tensor::BFloat16>(got, wanted, where);
  FAIL() << where;
}

std::shared_ptr<const plan::Plan> plan_of(const ir::Module& module, const jit::Plugin* compiler,
                                          plan::SpeculationMode speculation) {
  plan::PlanOptions options;
  options.compiler = compiler;
  options.always_compile = true;
  options.always_parallel_steps = true;
  options.speculation = speculation;
  return plan::make_plan(module, options);
}

BoundPlan bind_planned(const std::shared_ptr<const plan::Plan>& plan,
                       const std::vector<Tensor>& feeds, std::string& strategies) {
  std::vector<Shape> shapes;
  for (const Tensor& feed : feeds) shapes.push_back(feed.shape());
  BoundPlan binding = plan::bind(plan, shapes);
  if (binding)
    for (const plan::BoundLoop& loop : (*binding)->loops)
      strategies += plan::describe_strategy(**binding, loop) +
                    (loop.speculation ? ", speculated" : "") + "\n";
  return binding;
}

Expected<std::vector<Tensor>> run_bound(const BoundPlan& binding, const std::vector<Tensor>& feeds,
                                        int threads) {
  if (!binding) return binding.error();
  std::vector<const std::byte*> data;
  for (const Tensor& feed : feeds) data.push_back(static_cast<const std::byte*>(feed.data()));
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

Expected<std::vector<Tensor>> run_planned(const std::shared_ptr<const plan::Plan>& plan,
                                          const std::vector<Tensor>& feeds, int threads,
                                          std::string& strategies) {
  return run_bound(bind_planned(plan, feeds, strategies), feeds, threads);
}

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

}  // namespace scanloom::differential
