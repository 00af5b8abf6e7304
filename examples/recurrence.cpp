// Two recurrences written in C++: one with its gradient, one that counts its steps and stops.
//
//   recurrence
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <scanloom/function.h>
#include <scanloom/grad.h>
#include <scanloom/scan.h>

namespace sl = scanloom;

namespace {

sl::Expected<void> print(const char* what, const sl::Value& value) {
  const auto elements = value.try_as<double>();
  if (!elements) return elements.error();
  std::printf("%-16s", what);
  for (const double x : *elements) std::printf(" %10.4f", x);
  std::printf("\n");
  return {};
}

/// h[t] = a[t] h[t-1] + b[t], and how the sum of all h changes with every a.
sl::Expected<void> affine() {
  const sl::Expr a = sl::input("a", sl::DType::f64, {-1}), b = sl::input("b", sl::DType::f64, {-1});
  const sl::Expr zero = sl::number(0, sl::DType::f64);
  const sl::Expr h =
      sl::scan({.sequences = {a, b}, .initial = {zero}, .name = "affine"},
               [](const sl::StepInputs& step) { return step[0] * step.state(0) + step[1]; });
  const auto f = sl::Function::compile({a, b}, {h, sl::grad(sl::sum(h), a)});
  if (!f) return f.error();

  const std::vector<double> as{0.5, 0.5, 2, 1}, bs{1, 1, 1, 1};
  const auto results = (*f)({sl::view(as.data(), {4}), sl::view(bs.data(), {4})});
  if (!results) return results.error();
  const auto printed = print("h", (*results)[0]);
  return printed ? print("d sum(h) / d a", (*results)[1]) : printed;
}

/// x[t] = x[t-2] + x[t-1] / 2, until it is above a limit; every call goes on counting the steps.
sl::Expected<void> growth() {
  const sl::Shared count("count", std::int64_t{0});
  const sl::Expr begin = sl::input("begin", sl::DType::f64, {2});
  const sl::Expr limit = sl::input("limit", sl::DType::f64);
  const sl::ScanOptions options{
      .initial = {{begin, {{-2, -1}}}}, .captured = {limit}, .steps = 1000, .name = "growth"};
  const sl::ScanResult grown = sl::scan(options, [&](const sl::StepInputs& step) {
    const sl::Expr next = step.state(0, -2) + 0.5 * step.state(0, -1);
    return sl::Step(next).update(count, count + 1).until(next > step.captured(0));
  });
  const auto f =
      sl::Function::compile({begin, limit}, {grown.outputs[0][-1]}, {.updates = grown.updates});
  if (!f) return f.error();

  const std::vector<double> ones{1, 1};
  for (const double above : {10.0, 1000.0}) {
    const auto results = (*f)({sl::view(ones.data(), {2}), sl::view(&above, {})});
    if (!results) return results.error();
    if (const auto printed = print("last x", (*results)[0]); !printed) return printed;
    const sl::Value counted = count.value();
    const auto steps = counted.try_as<std::int64_t>();
    if (!steps) return steps.error();
    std::printf("steps so far %13lld\n", static_cast<long long>((*steps)[0]));
  }
  return {};
}

}  // namespace

int main() {
  for (const auto& example : {affine, growth})
    if (const auto done = example(); !done) {
      std::fprintf(stderr, "error: %s\n", done.error().message().c_str());
      return 2;
    }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::fprintf(stderr, "error: cannot write the results\n");
  return 2;
}
