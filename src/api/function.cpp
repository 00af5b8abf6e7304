#include <scanloom/function.h>

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "api/export_model.h"
#include "api/function_programs.h"
#include "api/function_sequences.h"
#include "api/guard.h"
#include "api/impl.h"
#include "api/model_format.h"
#include "api/output_files.h"
#include "api/part_updates.h"
#include "api/plain_form.h"
#include "api/saved_function.h"
#include "base/mapped_file.h"
#include "exporters/onnx/write.h"
#include "expr/loop_updates.h"
#include "expr/lower.h"
#include "expr/node.h"
#include "expr/shared.h"
#include "ir/verify.h"
#include "passes/nodes/decompose_windows.h"

namespace scanloom {

struct Function::Export {
  ir::Module module;
  exporters::WriteOptions names;
};

namespace {

/// The index of the item; the size if it is not there.
template <class T>
std::size_t position(const std::vector<T>& items, const T& item) {
  return static_cast<std::size_t>(std::ranges::find(items, item) - items.begin());
}

}  // namespace

struct [[gnu::visibility("hidden")]] Function::Impl {
  explicit Impl(std::shared_ptr<const FunctionPrograms> made) : programs(std::move(made)) {}
  /// The same program for other variables, to be added by the caller.
  explicit Impl(const Impl* other)
      : programs(other->programs), inputs(other->inputs), outputs(other->outputs) {}

  /// Independent of the values of shared variables.
  std::shared_ptr<const FunctionPrograms> programs;
  std::size_t inputs = 0, outputs = 0;  ///< the caller's own
  std::vector<Shared> variables;        ///< those that are read, then those that are only set
  /// Fed after the inputs, and set by `updates`.
  expr::SharedVariables read, updated;

  /// Made on first use.
  std::shared_ptr<const FunctionSequences> sequences() const {
    const std::scoped_lock lock(sequences_mutex);
    if (!made_sequences)
      made_sequences = std::make_shared<const FunctionSequences>(programs, inputs);
    return made_sequences;
  }
  mutable std::mutex sequences_mutex;
  mutable std::shared_ptr<const FunctionSequences> made_sequences;  ///< guarded

  void add_read(const Expr& variable) {
    variables.emplace_back(variable);
    read.push_back(variable.node()->shared);
  }
  void add_updated(const Expr& variable) {
    if (std::ranges::find(variables, Shared(variable)) == variables.end())
      variables.emplace_back(variable);
    updated.push_back(variable.node()->shared);
  }

  /// The values of `variables`, at one moment.
  [[nodiscard]] std::vector<tensor::Tensor> all_values() const {
    expr::SharedVariables all;
    for (const Shared& each : variables) all.push_back(each.variable().node()->shared);
    return expr::values_of(all);
  }

  Expected<std::vector<Value>> call(std::span<const View> values, const RunOptions& options,
                                    RunReport* report) const {
    SCANLOOM_CHECK_OK(check_count(values));
    expr::Turn turn;
    SCANLOOM_CHECK_OK(turn.take(updated));
    Arranged arranged;
    const Session::Impl& open = programs->whole().open();
    arranged.objects.resize(open.inputs.size());
    for (std::size_t i = 0; i < inputs; ++i)
      SCANLOOM_CHECK_OK(open.arrange_one(i, values[i], arranged));
    expr::HeldValues held(read);
    for (std::size_t i = 0; i < read.size(); ++i) arrange_held(held[i], arranged);
    RunReport own_report;
    RunReport& told = report != nullptr ? *report : own_report;
    const FunctionPrograms::Program& program = programs->choose(arranged.shapes);
    Expected<std::vector<Value>> run = run_once(program, arranged, options, told);
    if (!run) return as_written(program, std::move(run).error(), arranged, options);
    std::vector<Value> results = *std::move(run);
    programs->note_steps(told.steps);
    SCANLOOM_CHECK_OK(update(program.updates, results, held));
    results.resize(outputs);
    return results;
  }

  /// `values`: null: nothing runs. Shared variables keep their values.
  Expected<std::string> report(const std::span<const View>* values,
                               const ReportOptions& options) const {
    Session::Impl::Reported what{nullptr, inputs, outputs, true};
    if (values == nullptr) {
      SCANLOOM_TRY(const auto latest, programs->used().latest());
      return latest->report(what, options);
    }
    SCANLOOM_CHECK_OK(check_count(*values));
    Arranged arranged;
    const Session::Impl& open = programs->whole().open();
    arranged.objects.resize(open.inputs.size());
    for (std::size_t i = 0; i < inputs; ++i)
      SCANLOOM_CHECK_OK(open.arrange_one(i, (*values)[i], arranged));
    const expr::HeldValues held(read);
    for (std::size_t i = 0; i < read.size(); ++i) arrange_held(held[i], arranged);
    what.feeds = &arranged;
    SCANLOOM_TRY(const std::shared_ptr<Session::Impl> version,
                 programs->choose(arranged.shapes).versions.for_sizes(arranged.shapes));
    return version->report(what, options);
  }

 private:
  [[nodiscard]] Expected<void> check_count(std::span<const View> values) const {
    if (values.size() == inputs) return {};
    return fail(Code::invalid_argument, "the function takes {} values, but {} are given", inputs,
                values.size());
  }

  static Expected<std::vector<Value>> run_once(const FunctionPrograms::Program& program,
                                               const Arranged& arranged, const RunOptions& options,
                                               RunReport& report) {
    SCANLOOM_TRY(const std::shared_ptr<Session::Impl> session,
                 program.versions.for_sizes(arranged.shapes));
    return session->options.execution == Execution::interpreted
               ? session->run_interpreted(arranged, options, report)
               : session->run_bound(arranged, options, report);
  }

  /// A program that copies only rows reads indices in places of its own, all steps of a loop at
  /// once. Returns the error as the program that the user wrote reports it: with the table's name
  /// and the step. No value has changed, so another run has the same error.
  [[nodiscard]] Error as_written(const FunctionPrograms::Program& program, Error error,
                                 const Arranged& arranged, const RunOptions& options) const {
    if (error.code() != Code::invalid_argument || &program == &programs->whole_program())
      return error;
    RunReport unused;
    const auto again = run_once(programs->whole_program(), arranged, options, unused);
    return !again && again.error().code() == error.code() ? again.error() : error;
  }

  /// Adds the value of a variable without looking at its elements: it was checked when it was set.
  /// The run does not own it, so that it may be written in place afterwards.
  static void arrange_held(const tensor::Tensor& value, Arranged& arranged) {
    assert(value.dtype() != DType::string);  // shared variables are numeric
    arranged.shapes.push_back(value.shape());
    arranged.data.push_back(static_cast<const std::byte*>(value.data()));
  }

  /// Updates all of them, or none if something is wrong.
  Expected<void> update(const std::vector<SharedUpdate>& updates, std::span<const Value> results,
                        expr::HeldValues& held) const {
    expr::SharedVariables changed;
    std::vector<expr::NextValue> next;
    for (std::size_t i = 0; i < updated.size(); ++i) {
      if (updates[i].writes.empty()) {
        const Value& value = results[updates[i].whole];
        SCANLOOM_CHECK_OK(expr::check_sizes(*updated[i], value.shape()));
        const tensor::Shape shape{std::span<const std::int64_t>(value.shape())};
        next.push_back({{value.dtype(), shape, value.owner(), value.data()}, {}});
        changed.push_back(updated[i]);
        continue;
      }
      const std::size_t at = position(read, updated[i]);
      SCANLOOM_TRY(WriteParts write,
                   prepare_writes(updates[i], held[at].dtype(), held[at].shape(), results));
      if (!write) continue;  // its conditions exclude all writes
      next.push_back({held.take(at), std::move(write)});
      changed.push_back(updated[i]);
    }
    held.give_back();
    return expr::set_values(changed, std::move(next));
  }
};

namespace {

/// A name that other tools accept.
std::string without_spaces(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; }, '_');
  return name;
}

/// Adds the default updates of variables that are read, and of those which these updates read.
/// Updates of some streams depend on `loops`, which this settles.
Expected<Updates> all_updates(const std::vector<Expr>& outputs, const FunctionOptions& options,
                              expr::LoopUpdates& loops) {
  Updates updates = options.updates;
  if (updates.error() != nullptr) return *updates.error();
  for (const auto& [variable, next] : updates.entries())
    SCANLOOM_CHECK_OK(expr::check_update(variable.variable(), next));
  if (options.no_default_updates) return updates;
  for (bool found = true; found;) {
    found = false;
    std::vector<Expr> roots = outputs;
    for (const auto& [variable, next] : updates.entries()) roots.push_back(next);
    for (const Expr& variable : expr::shared_variables(roots)) {
      const Expr next = expr::default_update(variable);
      if (!next.defined() || updates[Shared(variable)].defined()) continue;
      const auto& without = options.without_default_update;
      if (std::ranges::find(without, Shared(variable)) != without.end()) continue;
      // Loops that read the variable have updates of it; unless these are given, it keeps its
      // value.
      if (expr::only_loops_update(roots, variable)) continue;
      // For a stream that is also read outside loops, the next draw is one that no loop has drawn.
      const Expr drawn =
          variable.node()->shared->counts ? loops.after(roots, variable, {}) : Expr();
      updates.set(Shared(variable), drawn.defined() ? drawn : next);
      found = true;
    }
  }
  return updates;
}

}  // namespace

Function::Function(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Expected<Function> Function::compile(const std::vector<Expr>& inputs,
                                     const std::vector<Expr>& outputs,
                                     const FunctionOptions& options) {
  return guard([&]() -> Expected<Function> {
    for (const Expr& x : outputs)
      if (!x.defined()) return fail(Code::invalid_argument, "an output is missing");
    if (const Expr* bad = expr::first_failed(inputs)) return *bad->error();
    for (const Expr& x : inputs)
      if (!x.defined() || x.node()->kind != expr::Kind::input)
        return fail(Code::invalid_argument, "{} is not an input: use input() to make one",
                    x.defined() ? expr::describe(x) : "an undefined expression");
    expr::LoopUpdates loops;
    SCANLOOM_TRY(const Updates updates, all_updates(outputs, options, loops));
    std::vector<Expr> all = outputs;
    for (const auto& [variable, next] : updates.entries()) all.push_back(next);
    if (const Expr* bad = expr::first_failed(all)) return *bad->error();
    all = loops.settled(all, {});
    if (!options.givens.empty()) all = substitute(all, options.givens);
    std::vector<std::string> names = options.output_names;
    names.resize(outputs.size());
    SCANLOOM_TRY(expr::Lowered lowered, expr::lower(inputs, all, options.name, names));
    SCANLOOM_CHECK_OK(ir::verify(lowered.module, ir::ResultTypes::trusted));
    UpdateSites sites{outputs.size(), {}};
    for (const auto& [variable, next] : updates.entries()) {
      const std::size_t at = position(lowered.shared, variable.variable());
      const bool is_read = at < lowered.shared.size();
      sites.arguments.push_back(is_read ? std::optional(inputs.size() + at) : std::nullopt);
    }
    SCANLOOM_TRY(auto programs,
                 FunctionPrograms::make(std::move(lowered.module), sites, options.session));
    auto impl = std::make_shared<Impl>(std::move(programs));
    impl->inputs = inputs.size();
    impl->outputs = outputs.size();
    for (const Expr& variable : lowered.shared) impl->add_read(variable);
    for (const auto& [variable, next] : updates.entries()) impl->add_updated(variable.variable());
    return Function(std::move(impl));
  });
}

Expected<std::vector<Value>> Function::call(std::span<const View> values, const RunOptions& options,
                                            RunReport* report) const {
  return guard([&]() -> Expected<std::vector<Value>> {
    auto results = impl_->call(values, options, report);
    if (!results) return of_call(std::move(results).error());
    return results;
  });
}

Expected<ManyRuns> Function::run_many(SequenceSource source, const ManyOptions& options) const {
  return guard([&]() -> Expected<ManyRuns> {
    if (!impl_->updated.empty())
      return fail(Code::invalid_argument,
                  "the function updates shared variable '{}', so that each call depends on the one "
                  "before",
                  impl_->updated[0]->name)
          .note("call it once for each sequence, in their order");
    return impl_->sequences()->run(std::move(source), options, expr::values_of(impl_->read));
  });
}

Expected<std::span<const ValueInfo>> Function::sequence_inputs() const {
  return guard(
      [&]() -> Expected<std::span<const ValueInfo>> { return impl_->sequences()->inputs(); });
}

Expected<void> Function::save(const std::string& path, std::string_view note) const {
  return guard([&]() -> Expected<void> {
    SavedFunction saved;
    saved.note = note;
    saved.inputs = static_cast<std::int64_t>(impl_->inputs);
    saved.outputs = static_cast<std::int64_t>(impl_->outputs);
    saved.read = static_cast<std::int64_t>(impl_->read.size());
    saved.module = impl_->programs->whole().open().plan->module;
    const std::vector<tensor::Tensor> values = impl_->all_values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto& shared = impl_->variables[i].variable().node()->shared;
      const auto at = std::ranges::find(impl_->updated, shared) - impl_->updated.begin();
      const bool stays = at == std::ssize(impl_->updated);
      saved.shared.push_back(
          {shared->name, shared->sizes, values[i], stays ? -1 : saved.outputs + at});
    }
    return write_file(path, to_bytes(saved));
  });
}

Expected<Function> Function::load(const std::string& path, const SessionOptions& options,
                                  std::string* note) {
  return guard([&]() -> Expected<Function> {
    SCANLOOM_TRY(const auto file, MappedFile::open(path));
    if (!is_saved_function(file->bytes())) return no_function(file->bytes(), path);
    Expected<SavedFunction> read = function_of_bytes(file->bytes());
    if (!read) return std::move(read).error().at(described_file(path));
    SavedFunction& saved = *read;
    if (note != nullptr) *note = saved.note;
    const auto inputs = static_cast<std::size_t>(saved.inputs);
    std::vector<std::pair<std::int64_t, std::size_t>> updated;  // (result, variable)
    for (std::size_t i = 0; i < saved.shared.size(); ++i)
      if (saved.shared[i].update >= 0) updated.emplace_back(saved.shared[i].update, i);
    std::ranges::sort(updated);
    UpdateSites sites{static_cast<std::size_t>(saved.outputs), {}};
    for (const auto& [result, at] : updated)
      sites.arguments.push_back(std::cmp_less(at, saved.read) ? std::optional(inputs + at)
                                                              : std::nullopt);
    SCANLOOM_TRY(auto programs, FunctionPrograms::make(std::move(saved.module), sites, options));
    auto impl = std::make_shared<Impl>(std::move(programs));
    impl->inputs = inputs;
    impl->outputs = sites.first;
    std::vector<Expr> variables;
    for (const auto& [name, sizes, value, update] : saved.shared) {
      const Expr& variable = variables.emplace_back(expr::shared_of(name, value, sizes));
      if (std::cmp_less(impl->read.size(), saved.read))
        impl->add_read(variable);
      else
        impl->variables.emplace_back(variable);
    }
    for (const auto& [result, at] : updated) impl->add_updated(variables[at]);
    return Function(std::move(impl));
  });
}

Expected<Function::Export> Function::exported(bool with_states) const {
  Export made{impl_->programs->whole().open().plan->module, {}};
  SCANLOOM_CHECK_OK(passes::decompose_windows(made.module));
  SCANLOOM_CHECK_OK(to_plain_form(made.module));
  exporters::WriteOptions& options = made.names;
  const std::vector<tensor::Tensor> values = expr::values_of(impl_->read);
  const std::vector<ir::ValueId>& args = made.module.region(made.module.top()).args;
  std::set<std::string> used;
  for (std::size_t i = 0; i < args.size(); ++i) {
    options.input_names.push_back(
        expr::distinct(without_spaces(made.module.value(args[i]).name), used));
    const bool shared = i >= impl_->inputs;
    const auto& variable = shared ? impl_->read[i - impl_->inputs] : nullptr;
    const bool stays =
        shared && std::ranges::find(impl_->updated, variable) == impl_->updated.end();
    options.values.push_back(stays ? values[i - impl_->inputs] : tensor::Tensor());
  }
  for (const std::string& name : made.module.output_names) {
    const bool own = options.output_names.size() < impl_->outputs;
    options.output_names.push_back(own ? expr::distinct(without_spaces(name), used) : "");
  }
  for (std::size_t i = 0; i < impl_->updated.size(); ++i) {
    const auto at = std::ranges::find(impl_->read, impl_->updated[i]) - impl_->read.begin();
    const bool is_read = std::cmp_less(at, impl_->read.size());
    const std::string& name =
        is_read ? options.input_names[impl_->inputs + static_cast<std::size_t>(at)]
                : impl_->updated[i]->name;
    options.output_names[impl_->outputs + i] = expr::distinct(without_spaces(name) + "_next", used);
    if (is_read && with_states)
      made.module.states.push_back({.name = name,
                                    .input = static_cast<std::uint32_t>(impl_->inputs + at),
                                    .output = static_cast<std::uint32_t>(impl_->outputs + i),
                                    .initial = values[static_cast<std::size_t>(at)]});
  }
  return made;
}

Expected<std::string> Function::to_onnx() const {
  return guard([&]() -> Expected<std::string> {
    SCANLOOM_TRY(const Export made, exported(false));
    SCANLOOM_TRY(exporters::onnx::WrittenModel model,
                 exporters::onnx::write_model(made.module, made.names));
    return std::move(model.bytes);
  });
}

Expected<void> Function::to_onnx(const std::string& path, bool external_data) const {
  return guard([&]() -> Expected<void> {
    SCANLOOM_TRY(const Export made, exported(false));
    return export_model(made.module, made.names, path, Format::onnx,
                        {.session = {}, .external_data = external_data});
  });
}

Expected<void> Function::to_openvino(const std::string& path) const {
  return guard([&]() -> Expected<void> {
    SCANLOOM_TRY(const Export made, exported(true));
    return export_model(made.module, made.names, path, Format::openvino, {});
  });
}

std::vector<Shared> Function::shared() const { return impl_->variables; }

Expected<Function> Function::with_shared(const std::vector<Shared>& variables) const {
  return guard([&]() -> Expected<Function> {
    const std::vector<Shared>& own = impl_->variables;
    if (variables.size() != own.size())
      return fail(Code::invalid_argument,
                  "the function has {} shared variables, but {} values are given", own.size(),
                  variables.size());
    for (std::size_t i = 0; i < own.size(); ++i)
      SCANLOOM_CHECK_OK(expr::check_replacement(own[i].variable(), variables[i].variable()));
    auto impl = std::make_shared<Impl>(impl_.get());
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (position(variables, variables[i]) != i)
        return fail(Code::invalid_argument, "{} is given for two shared variables",
                    expr::describe(variables[i].variable()));
      if (i < impl_->read.size())
        impl->add_read(variables[i].variable());
      else
        impl->variables.push_back(variables[i]);
    }
    for (const auto& updated : impl_->updated) {
      const auto value = [](const Shared& each) { return each.variable().node()->shared; };
      const auto at = std::ranges::find(own, updated, value) - own.begin();
      impl->add_updated(variables[static_cast<std::size_t>(at)].variable());
    }
    return Function(std::move(impl));
  });
}
std::size_t Function::output_count() const noexcept { return impl_->outputs; }

std::span<const ValueInfo> Function::inputs() const noexcept {
  return std::span(impl_->programs->whole().open().inputs).first(impl_->inputs);
}

std::string Function::explain() const {
  const auto session = guard([&] { return impl_->programs->used().latest(); });
  return session ? Session(*session).explain() : session.error().message();
}

std::string Function::ir() const {
  const auto session = guard([&] { return impl_->programs->used().latest(); });
  return session ? Session(*session).ir() : session.error().message();
}

Expected<std::string> Function::report(const ReportOptions& options) const {
  return guard([&] { return impl_->report(nullptr, options); });
}

Expected<std::string> Function::report(std::span<const View> values,
                                       const ReportOptions& options) const {
  return guard([&]() -> Expected<std::string> {
    auto made = impl_->report(&values, options);
    if (!made) return of_call(std::move(made).error());
    return made;
  });
}

}  // namespace scanloom
