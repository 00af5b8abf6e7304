// scanloom._native: Python bindings of the C++ interface. The user-facing classes are in
// scanloom/_ort/session.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <list>
#include <memory>
#include <mutex>
#include <string>

#include <scanloom/environment.h>
#include <scanloom/session.h>

#include "dlpack.h"
#include "environment.h"
#include "errors.h"
#include "expressions.h"
#include "feeds.h"
#include "gil.h"
#include "many.h"
#include "results.h"
#include "running.h"
#include "text.h"

namespace scanloom::python {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

RunSettings run_settings(double deadline, std::int64_t max_steps, std::int64_t max_memory,
                         nb::object cancel, nb::object progress, bool watch_signals) {
  return {deadline, max_steps, max_memory, std::move(cancel), std::move(progress), watch_signals};
}

/// Constructs options that refer to the memory of the weights.
void make_session_options(SessionOptions* self, int threads, const std::string& execution,
                          const std::string& numerics, bool optimize,
                          std::vector<std::string> disabled_passes, bool lenient, bool strict,
                          std::int64_t seed, Pairs states, std::vector<std::string> fed_defaults,
                          bool low_latency, bool speculate,
                          const std::optional<nb::bytes>& weights) {
  SessionOptions& options = *new (self) SessionOptions;
  options.threads = threads;
  options.execution = execution == "interpreted" ? Execution::interpreted
                      : execution == "stepped"   ? Execution::stepped
                      : execution == "compiled"  ? Execution::compiled
                                                 : Execution::automatic;
  options.numerics = numerics == "fast" ? Numerics::fast : Numerics::exact;
  options.optimize = optimize;
  options.disabled_passes = std::move(disabled_passes);
  options.lenient = lenient;
  options.strict = strict;
  options.seed = seed;
  options.states = std::move(states);
  options.fed_defaults = std::move(fed_defaults);
  options.low_latency = low_latency;
  options.speculate = speculate;
  if (weights)
    options.weights = {reinterpret_cast<const std::byte*>(weights->c_str()), weights->size()};
}

/// Converts a path, which may hold any bytes.
std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

Session load(const nb::bytes& path, const SessionOptions& options) {
  return value_or_raise([&, file = path_of(path)] {
    const GilRelease unlocked;
    return Session::load(file, options);
  }());
}

Session load_bytes(const nb::bytes& model, const SessionOptions& options) {
  const std::span bytes(reinterpret_cast<const std::byte*>(model.c_str()), model.size());
  return value_or_raise([&] {
    const GilRelease unlocked;
    return Session::load_bytes(bytes, options);
  }());
}

/// Returns (name, type, dims) per value; a dim is a number, a name, or None.
nb::list describe(std::span<const ValueInfo> values) {
  nb::list described;
  for (const ValueInfo& value : values) {
    nb::list dims;
    for (const ValueInfo::Dim& dim : value.shape) {
      if (dim.size >= 0) {
        dims.append(dim.size);
      } else if (dim.name.empty()) {
        dims.append(nb::none());
      } else {
        dims.append(text(dim.name));
      }
    }
    described.append(nb::make_tuple(text(value.name), text(value.type), dims));
  }
  return described;
}

nb::tuple describe_model(const Session& session) {
  const ModelInfo& info = session.info();
  nb::dict metadata;
  for (const auto& [key, value] : info.metadata) metadata[text(key)] = text(value);
  return nb::make_tuple(text(info.producer), text(info.graph), text(info.domain),
                        text(info.description), info.version, metadata,
                        text(info.graph_description), text(info.producer_version));
}

/// Returns (name, array) per result. Moves the values out of `results` to avoid copies.
nb::list to_arrays(nb::handle owner, Results results, const RunSettings& settings) {
  std::vector<Value> values = results.release();
  Converter converter(settings.max_memory, values);
  nb::list arrays;
  for (Value& value : values) {
    const nb::object name = text(value.name());
    arrays.append(nb::make_tuple(name, converter.to_object(std::move(value))));
  }
  note_conversion(owner, converter);
  return arrays;
}

nb::list run(nb::handle self, const nb::dict& arrays, const std::vector<std::string>& outputs,
             const RunSettings& settings) {
  const auto& session = nb::cast<const Session&>(self);
  const Feeds feeds(arrays, session.inputs());
  Results results = run_unlocked(settings, [&](const RunOptions& options) {
    return session.run(feeds.feeds(), options, outputs);
  });
  return to_arrays(self, std::move(results), settings);
}

/// Returns the results and (node, kernel, calls, seconds, depth) per executed node.
nb::tuple run_profiled(nb::handle self, const nb::dict& arrays,
                       const std::vector<std::string>& outputs, const RunSettings& settings) {
  const auto& session = nb::cast<const Session&>(self);
  const Feeds feeds(arrays, session.inputs());
  Results results = run_unlocked(settings, [&](const RunOptions& given) {
    RunOptions options = given;
    options.profile = true;
    return session.run(feeds.feeds(), options, outputs);
  });
  nb::list rows;
  for (const NodeTime& row : results.report.profile)
    rows.append(
        nb::make_tuple(text(row.node), text(row.kernel), row.calls, row.seconds, row.depth));
  return nb::make_tuple(to_arrays(self, std::move(results), settings), rows);
}

/// `feeds`: a dictionary, or None to run nothing. Returns the data of the report.
nb::object report_of(const Session& session, const nb::object& feeds, const RunSettings& settings,
                     std::string title, int runs) {
  if (feeds.is_none())
    return report_unlocked(settings, std::move(title), runs,
                           [&](const ReportOptions& options) { return session.report(options); });
  const Feeds fed(nb::cast<nb::dict>(feeds), session.inputs());
  return report_unlocked(settings, std::move(title), runs, [&](const ReportOptions& options) {
    return session.report(fed.feeds(), options);
  });
}

nb::object page_of(const std::string& data) {
  return text(value_or_raise([&] {
    const GilRelease unlocked;
    return report_page(data);
  }()));
}

nb::object plan_for(const Session& session, const nb::dict& arrays) {
  const Feeds feeds(arrays, session.inputs());
  return text(value_or_raise([&] {
    const GilRelease unlocked;
    return session.plan(feeds.feeds());
  }()));
}

nb::object nests_for(const Session& session, const nb::dict& arrays) {
  const Feeds feeds(arrays, session.inputs());
  return text(value_or_raise([&] {
    const GilRelease unlocked;
    return session.nests(feeds.feeds());
  }()));
}

nb::object llvm_for(const Session& session, const nb::dict& arrays, bool optimized) {
  const Feeds feeds(arrays, session.inputs());
  return text(value_or_raise([&] {
    const GilRelease unlocked;
    return session.llvm(feeds.feeds(), optimized);
  }()));
}

nb::object assembly_for(const Session& session, const nb::dict& arrays) {
  const Feeds feeds(arrays, session.inputs());
  return text(value_or_raise([&] {
    const GilRelease unlocked;
    return session.assembly(feeds.feeds());
  }()));
}

/// A stream and its session, whose inputs describe the feeds. A stream is not thread safe, so
/// threads take turns. Waits for its turn without the GIL, because the current run may need the
/// GIL; a progress function may use its own stream.
struct BoundStream {
  Session session;
  Stream stream;
  std::unique_ptr<std::recursive_mutex> turn = std::make_unique<std::recursive_mutex>();
};

nb::list push(nb::handle self, const nb::dict& arrays, const RunSettings& settings) {
  auto& bound = nb::cast<BoundStream&>(self);
  const Feeds feeds(arrays, bound.session.inputs());
  Results results = run_unlocked(settings, [&](const RunOptions& options) {
    const std::scoped_lock turn(*bound.turn);
    return bound.stream.push(feeds.feeds(), options);
  });
  return to_arrays(self, std::move(results), settings);
}

void set_state(BoundStream& bound, const std::string& input, const nb::object& value) {
  const std::vector<ValueInfo> states = bound.session.states();
  const ValueInfo* info = find_input(states, input);
  if (info == nullptr) info = find_input(bound.session.inputs(), input);
  const ArrayView array(value, input, info);
  const Expected<void> done = [&] {
    const GilRelease unlocked;
    const std::scoped_lock turn(*bound.turn);
    return bound.stream.set(input, array.view());
  }();
  if (!done) raise(Expected<void>(done).error());
}

nb::object get_state(BoundStream& bound, const std::string& state, const RunSettings& settings) {
  Value value = value_or_raise([&] {
    const GilRelease unlocked;
    const std::scoped_lock turn(*bound.turn);
    return bound.stream.get(state);
  }());
  Converter converter(settings.max_memory, {&value, 1});
  return converter.to_object(std::move(value));
}

/// Returns the type of a map's keys and values in ONNX's notation.
std::string map_type(const Value& map) {
  return "map(" + std::string(dtype_onnx_name(map.items()[0].dtype())) + ",tensor(" +
         std::string(dtype_onnx_name(map.dtype())) + "))";
}

/// Returns the type as far as the value shows it, for example "seq(tensor(float))".
std::string type_of(const Value& value) {
  if (value.kind() == ValueKind::map) return map_type(value);
  const std::string held = value.items().empty()
                               ? "tensor(" + std::string(dtype_onnx_name(value.dtype())) + ")"
                               : type_of(value.items()[0]);
  switch (value.kind()) {
    case ValueKind::sequence:
      return "seq(" + held + ")";
    case ValueKind::optional:
      return "optional(" + held + ")";
    case ValueKind::map:
    case ValueKind::tensor:
      break;
  }
  return held;
}

/// Returns a list of (name, type, value).
nb::list to_kept(const Results& results) {
  Converter converter(0, {});
  nb::list kept;
  for (std::size_t i = 0; i < results.size(); ++i)
    kept.append(nb::make_tuple(text(results.name(i)), text(type_of(results[i])),
                               converter.to_object(results[i])));
  return kept;
}

/// Wraps a row-major view without copying.
Value lent(const View& view) {
  if (view.kind == ValueKind::tensor)
    return {view.dtype, view.shape, std::shared_ptr<const void>(view.owner, view.data)};
  std::vector<Value> items;
  for (const View& item : view.items) items.push_back(lent(item));
  return {view.kind, view.dtype, std::move(items)};
}

/// Converts the list made by to_kept back to results, which refer to `arrays`.
Results of_kept(const nb::list& kept, std::list<ArrayView>& arrays) {
  Results results;
  for (const nb::handle each : kept) {
    const auto name = nb::cast<std::string>(each[0]);
    const auto type = nb::cast<std::string>(each[1]);
    results.add(name, lent(arrays.emplace_back(each[2], name, type).view()));
  }
  return results;
}

/// Returns (states, starts, begun, contradicted).
nb::tuple save_states(BoundStream& bound) {
  const StreamState state = [&] {
    const GilRelease unlocked;
    const std::scoped_lock turn(*bound.turn);
    return bound.stream.save();
  }();
  return nb::make_tuple(to_kept(state.states), to_kept(state.starts), state.begun,
                        state.contradicted);
}

void restore_states(BoundStream& bound, const nb::list& states, const nb::list& starts, bool begun,
                    bool contradicted) {
  std::list<ArrayView> arrays;
  const StreamState state{of_kept(states, arrays), of_kept(starts, arrays), begun, contradicted};
  const Expected<void> done = [&] {
    const GilRelease unlocked;
    const std::scoped_lock turn(*bound.turn);
    return bound.stream.restore(state);
  }();
  if (!done) raise(Expected<void>(done).error());
}

void reset_states(BoundStream& bound) {
  const GilRelease unlocked;
  const std::scoped_lock turn(*bound.turn);
  bound.stream.reset();
}

nb::tuple describe_report(const CheckReport& report) {
  nb::list errors;
  for (const Error& error : report.errors) errors.append(to_exception(error));
  return nb::make_tuple(errors, texts(report.warnings));
}

nb::tuple check_model(const nb::bytes& path, const SessionOptions& options) {
  return describe_report([&, file = path_of(path)] {
    const GilRelease unlocked;
    return check(file, options);
  }());
}

nb::tuple check_model_bytes(const nb::bytes& model, const SessionOptions& options) {
  const std::span bytes(reinterpret_cast<const std::byte*>(model.c_str()), model.size());
  return describe_report([&] {
    const GilRelease unlocked;
    return check_bytes(bytes, options);
  }());
}

void bind_session(nb::module_& module) {
  nb::class_<Session>(module, "Session", nb::dynamic_attr())  // for note_conversion()
      .def_static("load", &load)
      .def_static("load_bytes", &load_bytes)
      .def("inputs", [](const Session& session) { return describe(session.inputs()); })
      .def("outputs", [](const Session& session) { return describe(session.outputs()); })
      .def("states", [](const Session& session) { return describe(session.states()); })
      .def("defaults", [](const Session& session) { return describe(session.defaults()); })
      .def("info", &describe_model)
      .def("files",
           [](const Session& session) {
             nb::list paths;
             for (const std::string& path : session.files())
               paths.append(nb::bytes(path.data(), path.size()));
             return paths;
           })
      .def("warnings", [](const Session& session) { return texts(session.warnings()); })
      .def("run", &run)
      .def("run_profiled", &run_profiled)
      .def("stream",
           [](const Session& session) {
             Stream stream = value_or_raise([&] {
               const GilRelease unlocked;
               return session.stream();
             }());
             return BoundStream{.session = session, .stream = std::move(stream)};
           })
      .def(
          "explain",
          [](nb::handle self) { return explained(self, nb::cast<const Session&>(self).explain()); })
      .def("ir", [](const Session& session, bool optimized) { return text(session.ir(optimized)); })
      .def("passes",
           [](const Session& session) {
             return text(value_or_raise([&] {
               const GilRelease unlocked;
               return session.passes();
             }()));
           })
      .def("plan", [](const Session& session) { return text(session.plan()); })
      .def("plan_for", &plan_for)
      .def("nests", &nests_for)
      .def("llvm", &llvm_for)
      .def("assembly", &assembly_for)
      .def("report", &report_of, nb::arg().none(), nb::arg(), nb::arg(), nb::arg())
      .def("operators", &Session::operators);
  nb::class_<BoundStream>(module, "Stream", nb::dynamic_attr())
      .def("push", &push)
      .def("set", &set_state)
      .def("get", &get_state)
      .def("reset", &reset_states)
      .def("save", &save_states)
      .def("restore", &restore_states)
      .def("explain",
           [](nb::handle self) {
             const auto& bound = nb::cast<const BoundStream&>(self);
             return explained(self, [&] {
               const GilRelease unlocked;
               const std::scoped_lock turn(*bound.turn);
               return bound.stream.explain();
             }());
           })
      .def("report", [](const BoundStream& bound, std::string title) {
        const ReportOptions options{.form = ReportForm::data, .title = std::move(title)};
        return text(value_or_raise([&] {
          const GilRelease unlocked;
          const std::scoped_lock turn(*bound.turn);
          return bound.stream.report(options);
        }()));
      });
}

/// Raises ImportError if the process has loaded the library of another version before, as
/// LD_PRELOAD or a program that links it may do.
void expect_own_library() {
  if (version() == SCANLOOM_VERSION) return;
  const Expected<Environment> about = environment();
  const std::string text = "scanloom " SCANLOOM_VERSION " cannot use the library " +
                           (about ? about->library : std::string("libscanloom.so.0")) +
                           ", which is version " + std::string(version()) +
                           " and was loaded into this process before it";
  throw nb::import_error(text.c_str());
}

}  // namespace

NB_MODULE(_native, module) {
  expect_own_library();
  // Objects that live until the interpreter exits are not worth a warning, and the library never
  // prints.
  nb::set_leak_warnings(false);
  nb::class_<CancelFlag>(module, "CancelFlag")
      .def(nb::init<>())
      .def("cancel", &CancelFlag::cancel)
      .def("reset", &CancelFlag::reset)
      .def("cancelled", &CancelFlag::cancelled);
  nb::class_<SessionOptions>(module, "SessionOptions")
      .def("__init__", &make_session_options, nb::keep_alive<1, 14>());
  nb::class_<RunSettings>(module, "RunSettings")
      .def(nb::new_(&run_settings), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
           nb::arg().none(), nb::arg());
  bind_session(module);
  bind_many(module);
  bind_environment(module);
  bind_expressions(module);
  bind_functions(module);
  bind_gradients(module);
  bind_graphs(module);
  bind_scanning(module);
  module.def("check", &check_model);
  module.def("check_bytes", &check_model_bytes);
  module.def("from_dlpack", &from_dlpack);
  module.def("to_dlpack", &to_dlpack);
  module.def("report_page", &page_of);
  module.def("version", &version);
}

}  // namespace scanloom::python
