// Bindings of shared variables, streams of random numbers, and compiled functions.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <list>
#include <optional>
#include <span>
#include <utility>

#include <scanloom/convert.h>
#include <scanloom/from_onnx.h>
#include <scanloom/function.h>
#include <scanloom/shared.h>

#include "expressions.h"
#include "feeds.h"
#include "gil.h"
#include "results.h"
#include "running.h"
#include "text.h"

namespace scanloom::python {
namespace {

using Pairs = std::vector<std::pair<Expr, Expr>>;

Function compile(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                 const std::vector<std::pair<Shared, Expr>>& updates, const Pairs& givens,
                 bool no_default_updates, std::vector<Shared> without_default_update,
                 std::string name, std::vector<std::string> output_names,
                 const SessionOptions& session) {
  FunctionOptions options;
  for (const auto& [variable, next] : updates) options.updates.set(variable, next);
  options.givens = givens;
  options.no_default_updates = no_default_updates;
  options.without_default_update = std::move(without_default_update);
  options.name = std::move(name);
  options.output_names = std::move(output_names);
  options.session = session;
  Expected<Function> made = Function::compile(inputs, outputs, options);
  if (!made) raise_of_expression(made.error());
  return *std::move(made);
}

/// Returns views of the values of a call; `arrays` keeps them alive.
std::vector<View> views_of(const Function& function, const nb::list& values,
                           std::list<ArrayView>& arrays) {
  std::vector<View> views;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool known = i < function.inputs().size();
    const std::string name = known ? function.inputs()[i].name : std::to_string(i);
    views.push_back(
        arrays.emplace_back(values[i], name, known ? &function.inputs()[i] : nullptr).view());
  }
  return views;
}

/// Returns the outputs and, if `profile`, (node, kernel, calls, seconds, depth) per executed node.
nb::tuple call(nb::handle self, const nb::list& values, const RunSettings& settings, bool profile) {
  const auto& function = nb::cast<const Function&>(self);
  std::list<ArrayView> arrays;
  const std::vector<View> views = views_of(function, values, arrays);
  RunReport report;
  const auto compute = [&](const RunOptions& given) -> Expected<Results> {
    RunOptions options = given;
    options.profile = profile;
    auto computed = function.call(views, options, &report);
    if (!computed) return std::move(computed).error();
    Results all;
    for (Value& value : *computed) all.add("", std::move(value));
    return all;
  };
  Results results = run_unlocked(settings, compute, raise_of_expression);
  std::vector<Value> made = results.release();
  Converter converter(settings.max_memory, made);
  nb::list computed;
  for (Value& value : made) computed.append(converter.to_object(std::move(value)));
  note_conversion(self, converter);
  nb::list rows;
  for (const NodeTime& row : report.profile)
    rows.append(
        nb::make_tuple(text(row.node), text(row.kernel), row.calls, row.seconds, row.depth));
  return nb::make_tuple(computed, rows);
}

/// `values`: a list, or None to call nothing. Returns the data of the report.
nb::object report_of(const Function& function, const nb::object& values,
                     const RunSettings& settings, std::string title, int runs) {
  if (values.is_none())
    return report_unlocked(settings, std::move(title), runs,
                           [&](const ReportOptions& options) { return function.report(options); });
  std::list<ArrayView> arrays;
  const std::vector<View> views = views_of(function, nb::cast<nb::list>(values), arrays);
  const auto make = [&](const ReportOptions& options) { return function.report(views, options); };
  return report_unlocked(settings, std::move(title), runs, make, raise_of_expression);
}

/// Returns (name, numpy dtype, rank) per input.
nb::list inputs_of(const Function& function) {
  nb::list described;
  for (const ValueInfo& input : function.inputs())
    described.append(nb::make_tuple(text(input.name), numpy_name(input.dtype), input.shape.size()));
  return described;
}

std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

void done_or_raise(const Expected<void>& done) {
  if (!done) raise(Expected<void>(done).error());
}

void save(const Function& function, const nb::bytes& path, const std::string& note) {
  done_or_raise(function.save(path_of(path), note));
}

nb::tuple load(const nb::bytes& path, const SessionOptions& session) {
  std::string note;
  Expected<Function> made = Function::load(path_of(path), session, &note);
  if (!made) raise(std::move(made).error());
  return nb::make_tuple(*std::move(made), text(note));
}

using InputSizes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;
using InputValues = std::vector<std::pair<std::string, nb::object>>;

/// Converts a model, with sizes and values by input name. Returns the warnings from reading it.
nb::list convert_model(const nb::bytes& given, bool is_path, const nb::bytes& to,
                       bool external_data, bool stream, InputSizes sizes, const InputValues& values,
                       const SessionOptions& session) {
  std::vector<std::string> warnings;
  ConvertOptions options{.session = session, .external_data = external_data, .stream = stream};
  options.sizes = std::move(sizes);
  std::list<ArrayView> arrays;
  for (const auto& [name, value] : values)
    options.values.emplace_back(name, arrays.emplace_back(value, name, "").view());
  options.session.on_warning = [&](std::string_view warning) { warnings.emplace_back(warning); };
  const std::string path = path_of(to), from = path_of(given);
  done_or_raise([&] {
    const GilRelease unlocked;
    return is_path ? convert(from, path, options)
                   : convert_bytes(std::as_bytes(std::span(from)), path, options);
  }());
  nb::list told;
  for (const std::string& warning : warnings) told.append(text(warning));
  return told;
}

/// Returns (inputs, names of outputs, outputs).
nb::tuple expressions(const Expected<ModelExpressions>& read) {
  if (!read) raise(Expected<ModelExpressions>(read).error());
  nb::list names;
  for (const std::string& name : read->output_names) names.append(text(name));
  return nb::make_tuple(read->inputs, names, read->outputs);
}

/// Reads a model, given as bytes or as a path, with sizes and values by input name.
nb::tuple read_model(const nb::bytes& given, bool is_path, InputSizes sizes,
                     const InputValues& values, const SessionOptions& session) {
  FromOnnxOptions options{.sizes = std::move(sizes), .values = {}, .session = session};
  std::list<ArrayView> arrays;
  for (const auto& [name, value] : values)
    options.values.emplace_back(name, arrays.emplace_back(value, name, "").view());
  if (is_path) return expressions(from_onnx({given.c_str(), given.size()}, options));
  const auto* const data = reinterpret_cast<const std::byte*>(given.c_str());
  return expressions(from_onnx_bytes({data, given.size()}, options));
}

nb::object value_of(const Shared& shared) { return Converter(0, {}).to_object(shared.value()); }

void set_value(Shared& shared, const nb::object& value) {
  const ArrayView array(value, "value", "");
  const Expected<void> done = shared.set(array.view());
  if (!done) raise(Expected<void>(done).error());
}

void bind_shared(nb::module_& module) {
  nb::class_<Shared>(module, "Shared")
      .def(nb::new_([](std::string name, const nb::object& value, const Axes& units) {
        const ArrayView array(value, "value", "");
        Shared shared(std::move(name), array.view(), units);
        (void)checked(shared.variable());
        return shared;
      }))
      .def_prop_ro("variable", [](const Shared& shared) { return shared.variable(); })
      .def("value", &value_of)
      .def("set", &set_value)
      .def("default_update",
           [](const Shared& shared) -> std::optional<Expr> {
             const Expr next = shared.default_update();
             return next.defined() ? std::optional(next) : std::nullopt;
           })
      .def(
          "set_default_update",
          [](Shared& shared, const std::optional<Expr>& next) {
            shared.set_default_update(next.value_or(Expr()));
          },
          nb::arg().none());
  // Returns the shared variable that the expression is, or None.
  module.def("as_shared", [](const Expr& x) -> std::optional<Shared> {
    return is_shared(x) ? std::optional<Shared>(Shared(x)) : std::nullopt;
  });
  // Returns the combination of two updates, or None if they contradict each other.
  module.def("merged", [](const Shared& variable, const Expr& a, const Expr& b) {
    Updates both{{variable, a}};
    return both.merge({{variable, b}}) ? std::optional<Expr>(both[variable]) : std::nullopt;
  });
  nb::class_<RandomStreams>(module, "RandomStreams")
      .def(nb::init<std::uint64_t>())
      .def("uniform",
           [](RandomStreams& streams, const Expr& shape, std::string_view dtype) {
             return checked(streams.uniform(shape, dtype_of_numpy(dtype)));
           })
      .def("normal",
           [](RandomStreams& streams, const Expr& shape, std::string_view dtype) {
             return checked(streams.normal(shape, dtype_of_numpy(dtype)));
           })
      .def("seed", &RandomStreams::seed)
      .def("updates", [](const RandomStreams& streams) { return streams.updates().entries(); });
}

}  // namespace

void bind_functions(nb::module_& module) {
  bind_shared(module);
  nb::class_<Function>(module, "Function", nb::dynamic_attr())  // for note_conversion()
      .def("call", &call)
      .def("explain",
           [](nb::handle self) {
             return explained(self, nb::cast<const Function&>(self).explain());
           })
      .def("ir", [](const Function& function) { return text(function.ir()); })
      .def("report", &report_of, nb::arg().none(), nb::arg(), nb::arg(), nb::arg())
      .def("save", &save)
      .def("to_onnx",
           [](const Function& function, const nb::bytes& path, bool external_data) {
             done_or_raise(function.to_onnx(path_of(path), external_data));
           })
      .def("to_openvino",
           [](const Function& function, const nb::bytes& path) {
             done_or_raise(function.to_openvino(path_of(path)));
           })
      .def("shared", &Function::shared)
      .def("with_shared",
           [](const Function& function, const std::vector<Shared>& variables) {
             Expected<Function> made = function.with_shared(variables);
             if (!made) raise(std::move(made).error());
             return *std::move(made);
           })
      .def("sequence_inputs",
           [](const Function& function) {
             const Expected<std::span<const ValueInfo>> inputs = function.sequence_inputs();
             if (!inputs) raise(inputs.error());
             nb::list names;
             for (const ValueInfo& input : *inputs) names.append(text(input.name));
             return names;
           })
      .def("input_count", [](const Function& function) { return function.inputs().size(); })
      .def("inputs", &inputs_of);
  module.def("convert", &convert_model);
  module.def("read_model", &read_model);
  module.def("load_function", &load);
  module.def("compile", &compile);
}

}  // namespace scanloom::python
