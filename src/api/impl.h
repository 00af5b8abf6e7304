// The implementation of a Session: the plan, its bindings by feed sizes, and the idle Runs of each
// binding.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <scanloom/session.h>

#include "api/shared_sizes.h"
#include "base/diagnostics.h"
#include "passes/streaming/lane_axes.h"
#include "plan/binding.h"
#include "plan/plan.h"
#include "report/report.h"
#include "runtime/run.h"
#include "tensor/object.h"

namespace scanloom::passes {
struct StreamForm;
}  // namespace scanloom::passes

namespace scanloom::report {
struct StreamFacts;
}

namespace scanloom {

/// A binding and its idle Runs; concurrent runs of the same sizes take one each.
struct BoundEntry {
  std::vector<tensor::Shape> shapes;
  std::shared_ptr<const plan::Binding> binding;
  std::mutex mutex;
  std::vector<std::unique_ptr<runtime::Run>> idle;
  // Statistics for people, of successful runs:
  std::int64_t runs = 0, steps = 0;         ///< total runs; steps of the last one
  std::vector<tensor::Shape> result_sizes;  ///< of the last one, by output; empty for objects
  std::int64_t result_bytes = 0;            ///< of the last one, without sequences and optionals
  std::int64_t data_bytes = 0;              ///< of the last one: runtime::RunResult
  std::vector<std::int64_t> loop_steps;     ///< by loop: runtime::LoopTime::last
};

/// Feeds in the order of the inputs. Sequences, optionals and strings are objects without data;
/// only strings have sizes.
struct Arranged {
  std::vector<const std::byte*> data;
  std::vector<tensor::Shape> shapes;
  std::vector<tensor::ObjectRef> objects;
  std::vector<tensor::Tensor> copies;  ///< of strided feeds, kept alive here
  std::optional<std::uint64_t> run;    ///< by which random operators draw; unset: the next one
};

/// The sizes that an axis of an input may have, both ends inclusive.
struct InputRange {
  std::size_t input = 0;
  int axis = 0;
  std::int64_t low = 0, high = 0;
};

/// A module ready to plan, with everything that the front-end and the passes reported.
struct Loaded {
  ir::Module module;
  std::optional<ir::Module> for_streams = {};  ///< if it is another one: passes/run.h
  std::string_view summing_pass = {};          ///< passes::pass_that_sums of the passes that ran
  ModelInfo info;
  std::vector<ValueInfo> defaults;
  /// Additional names of inputs and outputs; may be shorter than these.
  std::vector<std::vector<std::string>> input_aliases = {}, output_aliases = {};
  std::vector<std::vector<std::string>> output_tensors = {};  ///< the names of tensors among them
  std::vector<std::string> weights_files = {};                ///< next to the model
  std::vector<InputRange> input_ranges = {};                  ///< as declared by the model
};

/// Finds by name, else by alias; the size of `infos` if there is none.
std::size_t find_by_name(std::span<const ValueInfo> infos, std::string_view name);
/// Returns a feed with the axes of its input: one element may be given with fewer.
View with_axes(const ValueInfo& input, const View& feed);
/// "x, h0".
std::string names_of(std::span<const ValueInfo> infos);

/// The bytes of a model, kept alive by `owner`; the folder of its external data and its own path,
/// empty if it does not come from a file.
struct Source {
  std::shared_ptr<const void> owner;
  std::string_view bytes;
  std::string folder;
  std::string path;
  bool distinct_sizes = false;  ///< sizes of inputs may differ even if they share a name

  /// Maps the file. Errors: those of MappedFile::open.
  static Expected<Source> of_file(const std::string& path);
};

/// Runs the passes, unless disabled by the options.
Expected<void> optimise(Loaded& loaded, const SessionOptions& options);

/// Errors: invalid_argument for options that no session and no function can have.
Expected<void> expect_valid(const SessionOptions& options);

/// Reads and optimises a module. Errors: those of expect_valid, and the first one in `diagnostics`.
Expected<Loaded> load_module(const Source& source, const SessionOptions& options,
                             Diagnostics& diagnostics);

/// The value of an object; memory without an owner belongs to the caller and is copied.
Expected<Value> to_value(const tensor::ObjectRef& object);
[[nodiscard]] ValueKind value_kind(tensor::ObjectKind kind);
Expected<Value> to_value(const tensor::Tensor& tensor);

/// A feed or state as an object of this type, with every item checked. Errors name it with
/// `what`.
Expected<tensor::ObjectRef> to_object(const View& view, const tensor::Type& type,
                                      std::string_view what);

struct ManyProgram;

struct [[gnu::visibility("hidden")]] Session::Impl {
  /// How a stream runs a model whose states are what its loops carry:
  /// passes/streaming/stream_form.h.
  struct StreamProgram {
    std::shared_ptr<Impl> steps;
    std::size_t outputs = 0;            ///< the model's own; next values of states follow
    std::shared_ptr<Impl> initial;      ///< null: every state begins with a value or zeros
    std::vector<std::size_t> computed;  ///< by output of `initial`: the state
    std::vector<ir::StepFlow> arguments, results;  ///< where inputs and own outputs have the steps
    std::variant<passes::LaneAxes, Refusal> lanes;
    std::string refused_node;  ///< of the refusal; empty if it names none
    /// If there are no lanes: the module of `steps` before passes.
    std::shared_ptr<const ir::Module> form;
  };

  SessionOptions options;
  ModelInfo info;
  std::vector<ValueInfo> inputs, outputs, defaults;
  /// The model's own; the inputs and outputs of its states follow them.
  std::size_t own_inputs = 0, own_outputs = 0;
  std::vector<InputRange> input_ranges;
  Source source;                   ///< for Session::ir(false), which reads it again
  std::vector<std::string> files;  ///< of the source and of the weights
  std::shared_ptr<const plan::Plan> plan;
  std::vector<SharedSize> shared_sizes;  ///< which the plan relies on
  std::shared_ptr<runtime::ResultMemory> result_memory = std::make_shared<runtime::ResultMemory>();
  static constexpr std::size_t kIdleRuns = 16;  ///< kept per binding
  static constexpr std::size_t kBindings = 32;
  std::size_t max_bindings = kBindings;  ///< kept; the least recently used goes first

  mutable std::mutex program_mutex;
  mutable std::shared_ptr<const StreamProgram> program;  ///< guarded by program_mutex
  /// The module that `program` is made from, if not the plan's; until then. Also guarded.
  mutable std::optional<ir::Module> for_streams;
  /// The module before passes, where `source` does not hold it.
  std::optional<ir::Module> written;
  /// The result of passes::pass_that_sums for the passes that made the plan's module; nullopt: none
  /// have run.
  std::optional<std::string_view> summing_pass;
  mutable std::shared_ptr<const ManyProgram> many;  ///< guarded by many_mutex
  mutable std::mutex many_mutex;
  /// This model with the sizes of sequences, and its program; guarded by sized_mutex. At most one
  /// of the two mutexes is locked at a time.
  mutable std::shared_ptr<Impl> sized;
  mutable std::shared_ptr<const ManyProgram> many_of_sized;
  mutable std::mutex sized_mutex;
  mutable std::mutex mutex;                                ///< guards the two below
  mutable std::vector<std::shared_ptr<BoundEntry>> bound;  ///< most recently used first
  mutable std::vector<std::string> warnings;

  mutable std::mutex unshared_mutex;
  mutable std::shared_ptr<Impl> unshared;      ///< guarded by unshared_mutex, like the next member
  mutable std::set<std::string> contradicted;  ///< names of sizes already warned of

  /// Number of runs begun; random operators draw by it.
  std::shared_ptr<std::atomic<std::uint64_t>> runs =
      std::make_shared<std::atomic<std::uint64_t>>(0);

  /// Returns the first of so many numbers of runs.
  [[nodiscard]] std::uint64_t next_runs(std::uint64_t count) const {
    return runs->fetch_add(count, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t run_of(const Arranged& feeds) const {
    return feeds.run ? *feeds.run : next_runs(1);
  }
  static Expected<std::shared_ptr<Impl>> make(const Source& source, const SessionOptions& options);
  /// Makes an Impl of a module that is ready to plan.
  static std::shared_ptr<Impl> of_module(ir::Module module, const SessionOptions& options);
  void warn(std::string text) const;
  /// Returns the session that runs feeds of these sizes; nullptr: this one. If the sizes contradict
  /// the model's declarations, it is the same model read without relying on those, with a warning.
  /// Errors: those of loading, if the file has changed.
  Expected<std::shared_ptr<Impl>> unshared_for(std::span<const tensor::Shape> shapes) const;
  /// Makes that session. unshared_mutex must be locked.
  Expected<std::shared_ptr<Impl>> make_unshared() const;
  /// The module as written in the file. Errors: those of loading, if the file has changed.
  [[nodiscard]] Expected<ir::Module> read_again() const;
  /// That module, as passed to the passes.
  [[nodiscard]] Expected<ir::Module> before_passes() const;
  /// program_mutex must be locked.
  [[nodiscard]] Expected<passes::StreamForm> stream_form() const;
  /// Made on first use. Errors: those of stream_form.
  Expected<std::shared_ptr<const StreamProgram>> stream_program() const;

  /// Runs the passes on a module that a stream or lanes are made from.
  [[nodiscard]] Expected<void> optimise_form(ir::Module& module) const;

  /// Made on first use; says why sequences cannot share runs if they cannot. `common`: by own
  /// input: whether all sequences have the same value. Errors: out_of_memory.
  Expected<std::shared_ptr<const ManyProgram>> many_program(const std::vector<bool>& common) const;
  /// Returns one for sequences that have these sizes except the number of steps, which fixes the
  /// other open sizes; the last one is kept. `tries`: sizes that may be the number of steps.
  /// Errors: sizes that do not fit; out_of_memory.
  Expected<std::shared_ptr<const ManyProgram>> many_program_for(
      const std::vector<tensor::Shape>& shapes, const std::vector<bool>& common,
      std::size_t tries) const;
  /// Which of its own inputs these feeds give.
  [[nodiscard]] std::vector<bool> inputs_fed(std::span<const Feed> feeds) const;

  /// Checked feeds in the order of the inputs.
  Expected<Arranged> arrange(std::span<const Feed> feeds) const;
  /// The value of a hidden input that is not fed: the initial value of its state, or false if it
  /// says whether the state is kept.
  [[nodiscard]] View hidden_value(std::size_t input) const;
  /// Error: a size outside the range declared by the model.
  [[nodiscard]] Expected<void> check_ranges(const Arranged& arranged) const;
  Expected<void> arrange_one(std::size_t input, const View& view, Arranged& arranged) const;
  Expected<std::shared_ptr<BoundEntry>> bind(const std::vector<tensor::Shape>& shapes,
                                             const plan::MayGoOn& may_go_on = {}) const;
  [[nodiscard]] std::vector<std::shared_ptr<BoundEntry>> known_bindings() const;
  [[nodiscard]] std::string explain() const;
  /// How many sequences run; empty before any did.
  [[nodiscard]] std::string sequences_text() const;
  /// The sizes that a stream keeps, and how a program uses a stream like it.
  struct Kept {
    const Impl& model;                                            ///< that the stream was made from
    std::vector<std::optional<std::vector<std::int64_t>>> sizes;  ///< by state
    report::StreamUse use;
  };
  /// The program of a function shows the inputs and outputs of its caller only.
  struct Reported {
    const Arranged* feeds = nullptr;  ///< run with these first; null: nothing runs
    std::size_t inputs = 0, outputs = 0;
    bool is_function = false;
    const Kept* kept = nullptr;  ///< of a stream; null: the report is not one of a stream
  };
  [[nodiscard]] Expected<std::string> report(const Reported& what,
                                             const ReportOptions& options) const;
  /// Runs that are not timed node by node, and one that is, whose report it returns. `facts` gets
  /// the time of the fastest of the former, and what its loops took.
  [[nodiscard]] Expected<RunReport> timed_run(const Arranged& feeds, const ReportOptions& options,
                                              report::Facts& facts) const;
  [[nodiscard]] report::StreamFacts stream_facts(const Kept* kept) const;
  /// Returns the output of `print` for the binding of the feeds' sizes.
  Expected<std::string> text_of_binding(
      std::span<const Feed> feeds,
      const std::function<std::string(const plan::Binding&)>& print) const;
  /// `hidden`: also return what the model's own states produce.
  Expected<Results> run(std::span<const Feed> feeds, const RunOptions& options,
                        std::span<const std::string> wanted, bool hidden = false,
                        std::optional<std::uint64_t> number = {}) const;
  /// Fills the report; the seconds are those from the checked feeds to the results.
  Expected<std::vector<Value>> run_bound(const Arranged& feeds, const RunOptions& options,
                                         RunReport& report) const;
  Expected<std::vector<Value>> run_interpreted(const Arranged& feeds, const RunOptions& options,
                                               RunReport& report) const;
};

}  // namespace scanloom
