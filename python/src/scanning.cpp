// Binding of scan with a Python step function.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <utility>

#include <scanloom/scan.h>

#include "expressions.h"

namespace scanloom::python {
namespace {

using Numbers = std::vector<std::int64_t>;
using Entries = std::vector<std::pair<Shared, Expr>>;
/// (value, taps, whether it has rows, whether it adapts); None if steps do not read the output.
using Begin = std::optional<std::tuple<Expr, Numbers, bool, bool>>;
/// The result of a step function: outputs, updates, and the condition that ends the loop.
using Made = std::tuple<std::vector<Expr>, Entries, std::optional<Expr>>;

struct Scanning {
  ScanOptions options;
};

/// Parses ("all", 0), ("every", n), ("sqrt", 0) or ("budget", bytes).
Checkpoint checkpoint_of(const std::pair<std::string, std::int64_t>& given) {
  const auto& [kind, value] = given;
  if (kind == "every") return Checkpoint::every(value);
  if (kind == "sqrt") return Checkpoint::root();
  if (kind == "budget") return Checkpoint::budget(value);
  return Checkpoint::all();
}

Scanning scanning(const std::vector<std::pair<Expr, Numbers>>& sequences,
                  const std::vector<Begin>& initial, std::vector<Expr> captured,
                  const std::optional<Expr>& steps, bool backwards, bool strict,
                  std::int64_t truncate_gradient,
                  const std::pair<std::string, std::int64_t>& checkpoint, std::string name,
                  std::string_view real) {
  ScanOptions options;
  for (const auto& [input, taps] : sequences) options.sequences.emplace_back(input, Taps{taps});
  for (const Begin& begin : initial) {
    Initial first;
    if (begin) std::tie(first.value, first.taps, first.rows, first.adapts) = *begin;
    options.initial.push_back(std::move(first));
  }
  options.captured = std::move(captured);
  options.steps = steps.value_or(Expr());
  options.backwards = backwards;
  options.strict = strict;
  options.truncate_gradient = truncate_gradient;
  options.checkpoint = checkpoint_of(checkpoint);
  options.name = std::move(name);
  options.real = dtype_of_numpy(real);
  return {std::move(options)};
}

/// Returns (outputs, updates). Propagates the exceptions of `step`.
std::pair<std::vector<Expr>, Entries> run_scan(const Scanning& scanning, const nb::callable& step) {
  bool has_outputs = true;
  const ScanResult result = scan_steps(scanning.options, [&](const StepInputs& inputs) -> Step {
    auto [outputs, updates, stop] = nb::cast<Made>(step(inputs.all()));
    has_outputs = !outputs.empty();
    Step made(std::move(outputs));
    made.updates = std::move(updates);
    made.stop = stop.value_or(Expr());
    return made;
  });
  for (const Expr& x : result.outputs) (void)checked(x);
  for (const auto& [variable, next] : result.updates.entries()) (void)checked(next);
  return {has_outputs ? result.outputs : std::vector<Expr>(), result.updates.entries()};
}

}  // namespace

void bind_scanning(nb::module_& module) {
  nb::class_<Scanning>(module, "Scanning").def(nb::new_(&scanning));
  module.def("scan", &run_scan);
}

}  // namespace scanloom::python
