#include "report/report.h"

#include "ir/size_names.h"
#include "report/code_forms.h"
#include "report/graph.h"
#include "report/json.h"
#include "report/loops.h"
#include "report/memory.h"
#include "report/node_executions.h"

namespace scanloom::report {
namespace {

/// Raise it whenever a reader of older data would misread newer data.
constexpr int kSchema = 1;

Json value_infos(std::span<const ValueInfo> infos) {
  Json list = Json::array();
  for (const ValueInfo& info : infos)
    list.push_back({{"name", shown(info.name)},
                    {"type", info.type},
                    {"element", dtype_name(info.dtype)},
                    {"sizes", declared_sizes(info)}});
  return list;
}

Json model(const ModelInfo& info) {
  Json json = Json::object();
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) json[name] = shown(text);
  };
  add("graph", info.graph);
  add("producer", info.producer);
  add("producer_version", info.producer_version);
  add("domain", info.domain);
  add("description", info.description);
  add("graph_description", info.graph_description);
  if (info.version != 0) json["version"] = info.version;
  return json;
}

Json machine(const MachineFigures& figures) {
  Json levels = Json::array();
  for (const MachineFigures::Level& level : figures.levels)
    levels.push_back({{"bytes", level.bytes}, {"bytes_per_second", level.bytes_per_second}});
  return {{"cpu", shown(figures.cpu)},
          {"isa", shown(figures.isa)},
          {"operations_per_second", figures.operations_per_second},
          {"levels", std::move(levels)}};
}

Json run(const RunReport& report, std::optional<double> fastest, const ir::SizeNames& sizes) {
  Json rows = Json::array();
  for (const NodeTime& row : report.profile)
    rows.push_back({{"name", shown(sizes.in(row.node))},
                    {"kernel", shown(row.kernel)},
                    {"calls", row.calls},
                    {"seconds", row.seconds},
                    {"depth", row.depth},
                    {"nodes", row.nodes}});
  Json json{{"seconds", report.seconds}, {"steps", report.steps}, {"rows", std::move(rows)}};
  if (fastest) json["fastest_seconds"] = *fastest;
  return json;
}

Json stream(const StreamFacts& facts) {
  Json json{{"possible", facts.why_not.empty()}, {"named", facts.is_named}};
  if (!facts.why_not.empty()) json["why_not"] = shown(facts.why_not);
  json["states"] = value_infos(facts.states);
  if (!facts.kept) return json;
  Json kept = Json::array();
  for (const auto& sizes : *facts.kept) kept.push_back(sizes ? Json(*sizes) : Json(nullptr));
  json["kept"] = std::move(kept);
  return json;
}

Json fed_sizes(const Interface& interface) {
  Json list = Json::array();
  for (const std::vector<std::int64_t>& sizes : interface.sizes) list.push_back(sizes);
  return list;
}

}  // namespace

std::string data(const Facts& facts) {
  const ir::SizeNames sizes(*facts.module);
  Json json{{"schema", kSchema},
            {"scanloom", version()},
            {"title", shown(facts.title)},
            {"is_function", facts.interface.is_function},
            {"model", facts.info != nullptr ? model(*facts.info) : Json::object()},
            {"inputs", value_infos(facts.interface.inputs)},
            {"outputs", value_infos(facts.interface.outputs)},
            {"fed", fed_sizes(facts.interface)},
            {"code", code_forms(facts.pushed.value_or(facts.interface))},
            {"stream", stream(facts.stream)}};
  json.update(graph(*facts.module));
  json["executions"] = facts.binding != nullptr ? node_executions(*facts.binding) : Json(nullptr);
  json["loops"] = facts.binding != nullptr ? loops(*facts.binding, facts.measured, facts.roofline)
                                           : Json::array();
  json["memory"] =
      facts.binding != nullptr ? memory(*facts.binding, facts.data_bytes) : Json(nullptr);
  json["run"] = facts.run != nullptr ? run(*facts.run, facts.fastest_run, sizes) : Json(nullptr);
  json["machine"] = facts.machine ? machine(*facts.machine) : Json(nullptr);
  json["explanation"] = to_valid_utf8(facts.explanation);
  Json warnings = Json::array();
  for (const std::string& warning : facts.warnings) warnings.push_back(shown(warning));
  json["warnings"] = std::move(warnings);
  return text_of(json);
}

}  // namespace scanloom::report
