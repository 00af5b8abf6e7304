// scanloom compare: compares a model's results with expected ones.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include <scanloom/session.h>

#include "commands.h"
#include "element.h"
#include "failure.h"
#include "feeds.h"
#include "interrupt.h"
#include "json_text.h"
#include "options.h"
#include "plain_text.h"
#include "test_data.h"
#include "validators.h"
#include "value_file.h"

namespace scanloom::cli {
namespace {

struct CompareArgs {
  ModelArgs model;
  LimitArgs limits;
  std::vector<std::string> data;
  double rtol = 1e-3;
  double atol = 1e-7;
  bool json = false;
};

/// One result compared with the expected one.
struct Difference {
  std::string set, output, type;
  std::string problem;  ///< "" if they agree
  std::int64_t differing = 0;
  double largest = 0;  ///< the largest absolute difference
};

bool agree(double result, double expected, const CompareArgs& args) {
  if (std::isnan(result) || std::isnan(expected)) return std::isnan(result) && std::isnan(expected);
  if (result == expected) return true;
  return std::fabs(result - expected) <= args.atol + args.rtol * std::fabs(expected);
}

std::string_view text_at(const std::byte* element) {
  return reinterpret_cast<const StringRef*>(element)->view();
}

/// Compares elements: floating-point numbers with the tolerance, everything else exactly.
void compare_elements(const View& result, const View& expected, const CompareArgs& args,
                      Difference& difference) {
  const std::int64_t count = count_elements(result.shape).value_or(0);
  const bool tolerant = is_floating_point(result.dtype) && is_number(result.dtype);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::byte* ours = element_at(result, i);
    const std::byte* theirs = element_at(expected, i);
    bool same = result.dtype == DType::string
                    ? text_at(ours) == text_at(theirs)
                    : std::memcmp(ours, theirs, dtype_bytes(result.dtype)) == 0;
    if (!same && tolerant) {
      const double a = read_number(result.dtype, ours), b = read_number(result.dtype, theirs);
      same = agree(a, b, args);
      if (!(std::isnan(a) || std::isnan(b)))
        difference.largest = std::max(difference.largest, std::fabs(a - b));
    }
    if (same) continue;
    if (difference.differing++ == 0)
      difference.problem = "at " + index_text(result.shape, i) + " it is " +
                           number_text(result.dtype, ours) + ", expected is " +
                           number_text(result.dtype, theirs);
  }
  if (difference.differing > 0)
    difference.problem = std::to_string(difference.differing) + " of " + std::to_string(count) +
                         " elements differ; " + difference.problem;
}

/// Compares item by item, up to the first difference.
void compare_values(const View& result, const View& expected, const CompareArgs& args,
                    Difference& difference) {
  const bool tensor = result.kind == ValueKind::tensor;
  const bool alike =
      result.kind == expected.kind && result.items.size() == expected.items.size() &&
      (!tensor || (result.dtype == expected.dtype && result.shape == expected.shape));
  if (!alike) {
    difference.problem = "expected is " + value_text(expected);
    if (!tensor) ++difference.differing;
    return;
  }
  if (tensor) return compare_elements(result, expected, args, difference);
  for (std::size_t i = 0; i < result.items.size(); ++i) {
    compare_values(result.items[i], expected.items[i], args, difference);
    if (difference.problem.empty()) continue;
    difference.problem = "item " + std::to_string(i) + ": " + difference.problem;
    return;
  }
}

Difference compare_one(const std::string& set, const NamedView& expected, const Results& results,
                       const CompareArgs& args) {
  const View result = results.at(expected.first).view();
  Difference difference = {set, expected.first, value_text(result), "", 0, 0};
  compare_values(result, expected.second, args, difference);
  return difference;
}

void print_text(const std::vector<Difference>& rows) {
  std::size_t bad = 0;
  for (const Difference& row : rows) {
    char largest[40];
    std::snprintf(largest, sizeof largest, "%.3g", row.largest);
    std::cout << (row.problem.empty() ? "same     " : "differs  ") << plain_line(row.set) << "  "
              << plain_line(row.output) << "  " << row.type << "  "
              << (row.problem.empty() ? "largest difference " + std::string(largest) : row.problem)
              << '\n';
    bad += !row.problem.empty();
  }
  std::cout << rows.size() - bad << " of " << rows.size() << " outputs are as expected\n";
}

void print_json(const std::vector<Difference>& rows) {
  auto out = nlohmann::ordered_json::array();
  for (const Difference& row : rows)
    out.push_back({{"data", row.set},
                   {"output", row.output},
                   {"type", row.type},
                   {"same", row.problem.empty()},
                   {"differing", row.differing},
                   {"largest_difference", json_of(row.largest)},
                   {"problem", row.problem}});
  std::cout << json_text(out);
}

int compare(CompareArgs args) {
  args.model.path = find_model(args.model.path);
  const Session session =
      Session::load(args.model.path, session_options(args.model)).value_or_throw();
  if (args.data.empty()) args.data = find_data_sets(args.model.path);
  const RunOptions options = run_options(args.limits);
  std::vector<Difference> rows;
  for (const std::string& path : args.data) {
    const DataSet set = read_data_set(path, session);
    const std::vector<Feed> feeds = as_feeds(set.inputs);
    const Results results = session.run(feeds, options).value_or_throw();
    end_if_interrupted();
    for (const NamedView& expected : set.expected)
      rows.push_back(compare_one(set.name, expected, results, args));
  }
  if (args.json)
    print_json(rows);
  else
    print_text(rows);
  for (const Difference& row : rows)
    if (!row.problem.empty()) return kDiffers;
  return kFine;
}

}  // namespace

void add_compare(CLI::App& app, int& status) {
  auto args = std::make_shared<CompareArgs>();
  CLI::App* command =
      app.add_subcommand("compare", "compares a model's results with expected ones");
  command
      ->add_option("model", args->model.path,
                   "an ONNX model, an OpenVINO IR or a saved function, or its folder")
      ->required();
  command->add_option("data", args->data,
                      "folders with input_0.pb, output_0.pb, ..., or .npz files with inputs and\n"
                      "outputs by name (default: test_data_set_* and *.npz next to the model)");
  add_model_options(*command, args->model, false);
  add_threads_option(*command, args->model);
  add_limit_options(*command, args->limits);
  command->add_option("--rtol", args->rtol, "relative tolerance")
      ->check(not_negative())
      ->capture_default_str();
  command->add_option("--atol", args->atol, "absolute tolerance")
      ->check(not_negative())
      ->capture_default_str();
  command->add_flag("--json", args->json, "the comparison as JSON");
  command->footer(
      "Example: scanloom compare test_scan_sum\n"
      "         scanloom compare model.onnx io.npz --rtol 1e-5");
  command->callback([args, &status] { status = compare(*args); });
}

}  // namespace scanloom::cli
