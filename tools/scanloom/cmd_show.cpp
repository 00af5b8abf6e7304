// scanloom show: prints the interface of a model, its IR and its plan.
#include <iomanip>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include <scanloom/session.h>

#include "commands.h"
#include "feeds.h"
#include "json_text.h"
#include "options.h"
#include "plain_text.h"

namespace scanloom::cli {
namespace {

struct ShowArgs {
  ModelArgs model;
  FeedArgs feeds;
  bool ir = false;
  bool passes = false;
  bool plan = false;
  bool nests = false;
  bool llvm = false;
  bool llvm_unoptimized = false;
  bool assembly = false;
  bool json = false;

  /// Whether something is printed that depends on the sizes of inputs.
  [[nodiscard]] bool shows_code() const { return nests || llvm || llvm_unoptimized || assembly; }
};

std::string shape_text(const ValueInfo& value) {
  if (!value.ranked) return "of any rank";
  std::string text;
  for (const ValueInfo::Dim& dim : value.shape) {
    text += text.empty() ? "" : ", ";
    if (dim.size >= 0)
      text += std::to_string(dim.size);
    else
      text += dim.name.empty() ? "?" : plain_line(dim.name);
  }
  return "[" + text + "]";
}

void print_values(const char* title, std::span<const ValueInfo> values) {
  std::size_t width = 0;
  for (const ValueInfo& value : values) width = std::max(width, plain_line(value.name).size());
  std::cout << title << '\n';
  for (const ValueInfo& value : values)
    std::cout << "  " << std::left << std::setw(static_cast<int>(width)) << plain_line(value.name)
              << "  " << value.type << ' ' << shape_text(value) << '\n';
}

void print_field(const char* label, const std::string& text) {
  if (!text.empty()) std::cout << std::left << std::setw(10) << label << plain_line(text) << '\n';
}

void print_interface(const Session& session) {
  const ModelInfo& info = session.info();
  print_field("graph", info.graph);
  print_field("producer", info.producer_version.empty()
                              ? info.producer
                              : info.producer + ' ' + info.producer_version);
  print_field("domain", info.domain);
  print_field("about", info.description);
  for (const auto& [key, text] : info.metadata) print_field("metadata", key + ": " + text);
  print_values("inputs", session.inputs());
  print_values("outputs", session.outputs());
  const std::vector<ValueInfo> states = session.states();
  if (!states.empty()) print_values("states", states);
  std::cout << "operators after passes\n ";
  for (const auto& [name, count] : session.operators()) std::cout << ' ' << name << ' ' << count;
  std::cout << (session.operators().empty() ? " none\n" : "\n");
}

nlohmann::ordered_json json_of_values(std::span<const ValueInfo> values) {
  auto out = nlohmann::ordered_json::array();
  for (const ValueInfo& value : values) {
    nlohmann::ordered_json shape;  // null: unknown rank
    if (value.ranked) shape = nlohmann::ordered_json::array();
    for (const ValueInfo::Dim& dim : value.shape) {
      if (dim.size >= 0)
        shape.push_back(dim.size);
      else if (dim.name.empty())
        shape.push_back(nullptr);
      else
        shape.push_back(dim.name);
    }
    out.push_back({{"name", value.name}, {"type", value.type}, {"shape", std::move(shape)}});
  }
  return out;
}

void print_json(const Session& session) {
  const ModelInfo& info = session.info();
  auto metadata = nlohmann::ordered_json::object(), operators = metadata;
  for (const auto& [key, text] : info.metadata) metadata[key] = text;
  for (const auto& [name, count] : session.operators()) operators[name] = count;
  std::cout << json_text({{"graph", info.graph},
                          {"graph_description", info.graph_description},
                          {"producer", info.producer},
                          {"producer_version", info.producer_version},
                          {"domain", info.domain},
                          {"description", info.description},
                          {"version", info.version},
                          {"metadata", std::move(metadata)},
                          {"inputs", json_of_values(session.inputs())},
                          {"outputs", json_of_values(session.outputs())},
                          {"states", json_of_values(session.states())},
                          {"operators", std::move(operators)}});
}

void show(const ShowArgs& args) {
  const Session session =
      Session::load(args.model.path, session_options(args.model)).value_or_throw();
  if (args.json) return print_json(session);
  if (!args.ir && !args.passes && !args.plan && !args.shows_code()) return print_interface(session);
  if (args.passes)
    std::cout << "// before passes\n"
              << plain_text(session.ir(false)) << "\n// passes\n"
              << plain_text(session.passes().value_or_throw()) << "\n// after passes\n";
  if (args.ir || args.passes) std::cout << plain_text(session.ir(true));
  const bool sizes_known =
      args.feeds.random || !args.feeds.feeds.empty() || !args.feeds.dims.empty();
  if (args.plan && !sizes_known) std::cout << plain_text(session.plan());
  if (!args.shows_code() && !(args.plan && sizes_known)) return;
  FeedArgs feeds = args.feeds;
  feeds.random = true;  // the values of the inputs do not matter here
  const std::vector<NamedView> tensors = make_feeds(session, feeds);
  if (args.plan && sizes_known)
    std::cout << plain_text(session.plan(as_feeds(tensors)).value_or_throw()) << '\n'
              << plain_text(session.explain());
  if (args.nests) std::cout << plain_text(session.nests(as_feeds(tensors)).value_or_throw());
  if (args.llvm_unoptimized)
    std::cout << plain_text(session.llvm(as_feeds(tensors), false).value_or_throw());
  if (args.llvm) std::cout << plain_text(session.llvm(as_feeds(tensors)).value_or_throw());
  if (args.assembly) std::cout << plain_text(session.assembly(as_feeds(tensors)).value_or_throw());
}

}  // namespace

void add_show(CLI::App& app, int&) {
  auto args = std::make_shared<ShowArgs>();
  CLI::App* command = app.add_subcommand("show", "shows a model: its interface, IR and plan");
  add_model_options(*command, args->model);
  add_threads_option(*command, args->model);
  add_feed_options(*command, args->feeds);
  CLI::Option* ir = command->add_flag("--ir", args->ir, "print the program after passes");
  CLI::Option* passes =
      command->add_flag("--passes", args->passes,
                        "print the program before and after passes, and what each of them did");
  CLI::Option* plan = command->add_flag(
      "--plan", args->plan,
      "print the plan; with --dim or --feed also buffers, kernels and strategies for these sizes");
  CLI::Option* nests =
      command->add_flag("--nests", args->nests,
                        "print the loop nests of compiled bodies before and after their passes");
  CLI::Option* llvm =
      command->add_flag("--llvm", args->llvm, "print the LLVM IR of compiled loops");
  CLI::Option* llvm_unoptimized =
      command->add_flag("--llvm-unoptimized", args->llvm_unoptimized,
                        "print the LLVM IR of compiled loops before LLVM's own passes");
  CLI::Option* assembly =
      command->add_flag("--assembly", args->assembly, "print the machine code of compiled loops");
  command->add_flag("--json", args->json, "print the interface as JSON")
      ->excludes(llvm)
      ->excludes(llvm_unoptimized)
      ->excludes(assembly)
      ->excludes(nests)
      ->excludes(ir)
      ->excludes(passes)
      ->excludes(plan);
  command->footer("Example: scanloom show model.onnx --plan --dim T=1000");
  command->callback([args] { show(*args); });
}

}  // namespace scanloom::cli
