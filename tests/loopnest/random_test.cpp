// Random but fixed bodies: their text parses to the same body, every pass keeps them valid, and the
// plain evaluator and machine code give the same bits before the passes and after each.
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "jit/interface.h"
#include "loopnest/parse.h"
#include "loopnest/print.h"
#include "loopnest/run.h"
#include "loopnest/verify.h"
#include "tensor/scalar_eval.h"
#include "tests/jit/compiler.h"
#include "tests/loopnest/evaluate.h"
#include "tests/loopnest/random_body.h"

namespace scanloom::loopnest::test {
namespace {

#ifdef SCANLOOM_SANITIZED
constexpr std::uint64_t kBodies = 10;
#else
constexpr std::uint64_t kBodies = 40;
#endif

/// The number of steps, as CompiledBodyFn returns it, and the results.
struct Outcome {
  std::int64_t steps = 0;
  std::vector<std::vector<std::byte>> results;
};

/// Returns the outcome of the steps that `run` takes over the slots.
template <class Run>
Outcome outcome_of(const RandomBody& made, Run&& run) {
  std::vector<std::vector<std::byte>> memory = made.memory;
  std::vector<std::byte*> slots;
  for (std::vector<std::byte>& bytes : memory) slots.push_back(bytes.data());
  const std::vector<std::byte*> first = slots;
  Outcome outcome;
  run(slots, outcome.steps);
  for (const Result& result : made.results) {
    const auto slot = static_cast<std::size_t>(result.slot);
    const std::byte* const from = result.is_state ? slots[slot] : first[slot];
    outcome.results.emplace_back(from, from + result.bytes);
  }
  return outcome;
}

Outcome evaluated(const RandomBody& made, const BodySource& source,
                  const std::vector<std::int64_t>& parameters) {
  return outcome_of(made, [&](std::vector<std::byte*>& slots, std::int64_t& steps) {
    steps = evaluate(source, slots, parameters, kRandomSteps);
  });
}

/// Grants few steps at a time, so that loops of several steps poll.
bool grant_steps(jit::BodyFrame* frame, std::int64_t loop, std::int64_t /*steps*/,
                 std::int64_t /*body_step*/) {
  frame->steps_to_poll[loop] = 3;
  return true;
}

Outcome run_compiled(const RandomBody& made, const BodySource& source,
                     const std::vector<std::int64_t>& parameters) {
  return outcome_of(made, [&](std::vector<std::byte*>& slots, std::int64_t& steps) {
    const auto code = jit::compiler()->compile_body(source);
    ASSERT_TRUE(code) << code.error().text();
    std::vector<std::int64_t> steps_to_poll(made.loops, 2);
    jit::BodyFrame frame{slots.data(), nullptr, 0, parameters.data()};
    frame.steps_to_poll = steps_to_poll.data();
    frame.poll = grant_steps;
    frame.max_counted = frame.max_endless = 1000;
    steps = code->run(&frame, 0, kRandomSteps);
  });
}

/// Whether the element is a NaN. Which of two becomes a result is not defined.
bool holds_nan(DType dtype, const std::byte* element) {
  tensor::ScalarReg reg;
  tensor::load_scalars(dtype, element, 0, &reg, 1);
  if (dtype == DType::f16) return (reg.low & 0x7fff) > 0x7c00;
  if (dtype == DType::bf16) return (reg.low & 0x7fff) > 0x7f80;
  if (dtype == DType::f32)
    return std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(reg.low)));
  return dtype == DType::f64 && std::isnan(std::bit_cast<double>(reg.low));
}

/// Equal bits, where NaNs are alike.
bool alike(DType dtype, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  for (std::size_t at = 0; at < a.size(); at += dtype_bytes(dtype))
    if (std::memcmp(&a[at], &b[at], dtype_bytes(dtype)) != 0 &&
        !(holds_nan(dtype, &a[at]) && holds_nan(dtype, &b[at])))
      return false;
  return true;
}

void expect_alike(const RandomBody& made, const Outcome& got, const Outcome& wanted,
                  const char* what) {
  EXPECT_EQ(got.steps, wanted.steps) << what;
  for (std::size_t i = 0; i < wanted.results.size(); ++i)
    EXPECT_TRUE(alike(made.results[i].dtype, got.results[i], wanted.results[i]))
        << what << ", result " << i << " in slot s" << made.results[i].slot;
}

void check_text(const BodySource& source) {
  const std::string text = print(source);
  const auto read = parse(text);
  ASSERT_TRUE(read) << read.error().text() << '\n' << text;
  EXPECT_EQ(*read, source) << text;
}

void check_body(const RandomBody& made, const BodySource& source,
                const std::vector<std::int64_t>& parameters, const Outcome& wanted) {
  const auto sound = verify(source);
  ASSERT_TRUE(sound) << sound.error().text();
  check_text(source);
  expect_alike(made, evaluated(made, source, parameters), wanted, "evaluated");
  if (jit::compiler() != nullptr)
    expect_alike(made, run_compiled(made, source, parameters), wanted, "compiled");
}

void run_pass(const NestPass& pass, BodyParts& body) {
  std::vector<std::string> others;
  for (const NestPass& other : all_nest_passes())
    if (other.name != pass.name) others.emplace_back(other.name);
  const auto done = run(body, pass.stage, {.disabled = others, .verify_each = true});
  ASSERT_TRUE(done) << done.error().text();
}

/// Runs all passes over the body, and compares the results after each of them.
void check_passes(RandomBody made, const Outcome& wanted) {
  BodySource source = source_of(made.body);
  SCOPED_TRACE(print(source));
  check_body(made, source, {}, wanted);
  for (const NestPass& pass : all_nest_passes()) {
    run_pass(pass, made.body);
    BodySource after = source_of(made.body);
    if (after == source) continue;
    SCOPED_TRACE("after " + std::string(pass.name) + "\n" + print(after));
    check_body(made, after, made.body.parameters, wanted);
    source = std::move(after);
  }
}

TEST(RandomNests, KeepTheirBitsFromPassToPass) {
  const char* const first = std::getenv("SCANLOOM_FUZZ_SEED");
  const std::uint64_t begin = first == nullptr ? 0 : std::strtoull(first, nullptr, 10);
  const char* const seconds = std::getenv("SCANLOOM_FUZZ_SECONDS");
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::seconds(seconds == nullptr ? 0 : std::atoll(seconds));
  for (std::uint64_t seed = begin; !::testing::Test::HasFailure(); ++seed) {
    if (seed - begin >= kBodies && std::chrono::steady_clock::now() >= deadline) break;
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomBody made = make_random_body(seed, false);
    const Outcome wanted = evaluated(made, source_of(made.body), {});
    if (seed % 2 == 1) made = make_random_body(seed, true);
    check_passes(std::move(made), wanted);
  }
}

}  // namespace
}  // namespace scanloom::loopnest::test
