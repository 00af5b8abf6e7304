// Random but fixed bodies: their text parses to the same body, every pass keeps them valid, and the
// plain evaluator and machine code give the same bits before the passes and after each.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "jit/interface.h"
#include "loopnest/parse.h"
#include "loopnest/print.h"
#include "loopnest/run.h"
#include "loopnest/verify.h"
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

using Outcome = std::vector<std::vector<std::byte>>;

/// The results after all steps, which `run` takes over the slots.
template <class Run>
Outcome outcome_of(const RandomBody& made, Run&& run) {
  std::vector<std::vector<std::byte>> memory = made.memory;
  std::vector<std::byte*> slots;
  for (std::vector<std::byte>& bytes : memory) slots.push_back(bytes.data());
  const std::vector<std::byte*> first = slots;
  run(slots);
  Outcome outcome;
  for (const Result& result : made.results) {
    const auto slot = static_cast<std::size_t>(result.slot);
    const std::byte* const from = result.is_state ? slots[slot] : first[slot];
    outcome.emplace_back(from, from + result.bytes);
  }
  return outcome;
}

Outcome evaluated(const RandomBody& made, const BodySource& source,
                  const std::vector<std::int64_t>& parameters) {
  return outcome_of(made, [&](std::vector<std::byte*>& slots) {
    evaluate(source, slots, parameters, kRandomSteps);
  });
}

Outcome run_compiled(const RandomBody& made, const BodySource& source,
                     const std::vector<std::int64_t>& parameters) {
  return outcome_of(made, [&](std::vector<std::byte*>& slots) {
    const auto code = jit::compiler()->compile_body(source);
    ASSERT_TRUE(code) << code.error().text();
    jit::BodyFrame frame{slots.data(), nullptr, 0, parameters.data()};
    EXPECT_EQ(code->run(&frame, 0, kRandomSteps), kRandomSteps);
  });
}

/// Equal bits, where NaNs are alike: which of two becomes the result is not defined.
template <class T>
bool alike(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  for (std::size_t at = 0; at < a.size(); at += sizeof(T)) {
    T x, y;
    std::memcpy(&x, &a[at], sizeof(T));
    std::memcpy(&y, &b[at], sizeof(T));
    if (std::memcmp(&x, &y, sizeof(T)) != 0 && !(std::isnan(x) && std::isnan(y))) return false;
  }
  return true;
}

void expect_alike(const RandomBody& made, const Outcome& got, const Outcome& wanted,
                  const char* what) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const DType dtype = made.results[i].dtype;
    const bool same = dtype == DType::f32   ? alike<float>(got[i], wanted[i])
                      : dtype == DType::f64 ? alike<double>(got[i], wanted[i])
                                            : got[i] == wanted[i];
    EXPECT_TRUE(same) << what << ", result " << i << " in slot s" << made.results[i].slot;
  }
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

TEST(RandomNests, KeepTheirBitsFromPassToPass) {
  for (std::uint64_t seed = 0; seed < kBodies && !::testing::Test::HasFailure(); ++seed) {
    RandomBody made = make_random_body(seed);
    BodySource source = source_of(made.body);
    const Outcome wanted = evaluated(made, source, {});
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(source));
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
}

}  // namespace
}  // namespace scanloom::loopnest::test
