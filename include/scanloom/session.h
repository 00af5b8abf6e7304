// Session: a model loaded and ready to run. Stream: its state, carried from run to run.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <scanloom/expected.h>
#include <scanloom/options.h>
#include <scanloom/report.h>
#include <scanloom/value.h>

namespace scanloom {

/// One input or output of a model. A dim is a number, or a name or "" if it is not fixed. For a
/// sequence or optional, the shape is that of the tensors in it.
struct ValueInfo {
  std::string name;
  DType dtype = DType::f32;
  std::string type;  ///< as ONNX writes it: "tensor(float)", "seq(tensor(int64))"
  ValueKind kind = ValueKind::tensor;
  bool ranked = true;
  struct Dim {
    std::int64_t size = -1;  ///< -1: not fixed
    std::string name;
  };
  std::vector<Dim> shape;
  /// Other names by which it may be fed or requested: those of its tensor in an OpenVINO IR.
  std::vector<std::string> aliases = {};
};

struct ModelInfo {
  std::string producer, producer_version, graph, graph_description, domain, description;
  std::int64_t version = 0;
  std::vector<std::pair<std::string, std::string>> metadata;
};

struct Feed {
  std::string_view name;
  View value;
};

/// Results by name, in the order of the model's outputs (or of those requested).
class SCANLOOM_API Results {
 public:
  void add(std::string name, Value value);
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  [[nodiscard]] const std::string& name(std::size_t i) const noexcept { return values_[i].name(); }
  [[nodiscard]] const Value& operator[](std::size_t i) const noexcept { return values_[i]; }
  /// nullptr if there is no such result.
  [[nodiscard]] const Value* find(std::string_view name) const noexcept;
  /// The elements of the named result, valid as long as a copy of it exists. Errors: not_found (no
  /// such result), listing the available ones; those of Value::try_as.
  template <Element T>
  [[nodiscard]] Expected<std::span<const T>> try_as(std::string_view name) const {
    const Value* const value = find(name);
    if (value == nullptr) return unknown(name);
    return value->try_as<T>();
  }
  /// Throws Failure (not_found) if there is no such result.
  [[nodiscard]] const Value& at(std::string_view name) const {
    // Thrown here and not in the library, which may have a C++ runtime of its own.
    if (const Value* value = find(name)) return *value;
    throw Failure(unknown(name));
  }
  /// Moves the values out, in order; each keeps its name(). Leaves no results.
  [[nodiscard]] std::vector<Value> release() noexcept { return std::exchange(values_, {}); }

  RunReport report;

 private:
  [[nodiscard]] Error unknown(std::string_view name) const;

  std::vector<Value> values_;
};

class Stream;
class ManyRuns;
struct ManyOptions;
struct SequenceFeeds;

/// Immutable after loading; run() may be called from many threads at once. Cheap to copy.
class SCANLOOM_API Session {
 public:
  struct Impl;  ///< known to the library only

  /// Loads an ONNX model, an OpenVINO IR with the .bin next to it, or a file written by
  /// Function::save: shared variables that the function updates become states, the others
  /// constants. Errors: not_found, invalid_model (the first problem; a note says how many more
  /// there are, check() lists all), unsupported.
  static Expected<Session> load(const std::string& path, const SessionOptions& options = {});
  /// Loads from memory; `bytes` need not outlive the call.
  static Expected<Session> load_bytes(std::span<const std::byte> bytes,
                                      const SessionOptions& options = {});

  [[nodiscard]] std::span<const ValueInfo> inputs() const noexcept;
  [[nodiscard]] std::span<const ValueInfo> outputs() const noexcept;
  /// Inputs that have a default value (ONNX: initialisers among the inputs). The value is compiled
  /// into the program unless SessionOptions::fed_defaults makes the input an ordinary one.
  [[nodiscard]] std::span<const ValueInfo> defaults() const noexcept;
  [[nodiscard]] const ModelInfo& info() const noexcept;
  /// The files that the model was read from: its own and those of its weights. Empty if it was read
  /// from memory.
  [[nodiscard]] const std::vector<std::string>& files() const noexcept;
  /// Warnings since loading. Thread safe.
  [[nodiscard]] std::vector<std::string> warnings() const;

  /// Runs once. Feeds are read, never written. Empty `outputs` means all. Errors: invalid_argument
  /// (a feed that is missing, unknown, or of another type or size; an index out of range inside),
  /// limit_reached, cancelled, out_of_memory, unsupported.
  Expected<Results> run(std::span<const Feed> feeds, const RunOptions& options = {},
                        std::span<const std::string> outputs = {}) const;
  Expected<Results> run(std::initializer_list<Feed> feeds, const RunOptions& options = {}) const {
    return run(std::span(feeds.begin(), feeds.size()), options);
  }

  /// Runs sequences of unequal lengths, each with the bits that it has alone; see many.h, which
  /// declares what this takes and returns. If what the model computes can be taken in pieces
  /// (stream()), sequences share runs as lanes: as rows of a batch of open size that no node mixes,
  /// or along an axis that is added for them, if all nodes have a form for that. Models that walk
  /// along whole sequences take them in padded batches. Otherwise each sequence runs alone, on one
  /// thread. Errors: invalid_argument (options, an unknown output).
  [[nodiscard]] Expected<ManyRuns> run_many(
      std::function<Expected<std::optional<SequenceFeeds>>()> source,
      const ManyOptions& options) const;

  /// The states that a stream keeps: those of the model (ReadValue and Assign in OpenVINO), by the
  /// names of their variables, and those named in SessionOptions::states. A run begins with their
  /// initial values.
  [[nodiscard]] std::vector<ValueInfo> states() const;

  /// Creates a stream over the model's own states and those named in SessionOptions::states. If
  /// none is named, the states are what the model's loops and recurrent layers carry: a push takes
  /// a piece of the axis that they iterate over. The model as written decides which inputs are the
  /// initial states; passes do not change that. The first such stream reads and compiles the model
  /// again. Error: unsupported (a node that computes across the steps, by name; no loop iterates
  /// over an open size).
  [[nodiscard]] Expected<Stream> stream() const;

  /// Describes every loop for people: its strategy, why not a better one, and what each port costs.
  /// Before the first run, as far as the model fixes the sizes of its inputs; may load the
  /// compiler's library. Times cover finished runs only.
  [[nodiscard]] std::string explain() const;
  /// The text form of the module before passes (`optimized` false: the model is read again) or
  /// after.
  [[nodiscard]] std::string ir(bool optimized = true) const;
  /// Describes for people what every pass did, in the order in which they ran: the numbers of
  /// nodes, loops and ports before and after, the lines of the text form that it removed and added,
  /// how often it changed something and how long it took. Reads and optimises the model again.
  /// Errors: those of load, if the file has changed.
  [[nodiscard]] Expected<std::string> passes() const;
  /// The plan; with feeds, also the binding for their sizes: buffers, offsets, kernels.
  [[nodiscard]] std::string plan() const;
  Expected<std::string> plan(std::span<const Feed> feeds) const;
  /// The loop nests of every loop whose body is compiled step by step, for the sizes of the feeds:
  /// before their passes and after each pass that changed something. One line says why another loop
  /// has none. For people: compiles nothing that binding does not. Errors: invalid_argument (feeds
  /// as in `run`). Thread safe.
  [[nodiscard]] Expected<std::string> nests(std::span<const Feed> feeds) const;
  /// The LLVM IR of every loop that is compiled for the sizes of the feeds, or would be after more
  /// steps, for the instruction set that runs use: as machine code is generated from it, or before
  /// LLVM's own passes (`optimized` false). Each loop follows a comment with its strategy; one such
  /// line says why another loop has no code. For people: the text differs by machine and version.
  /// Generates the code again, which takes as long as compiling it. Errors: invalid_argument (feeds
  /// as in `run`). Thread safe.
  [[nodiscard]] Expected<std::string> llvm(std::span<const Feed> feeds,
                                           bool optimized = true) const;
  /// The machine code of these loops, as the assembler of LLVM or GNU reads it; otherwise like
  /// `llvm`.
  [[nodiscard]] Expected<std::string> assembly(std::span<const Feed> feeds) const;
  /// The operators of the model after passes and how often each occurs, such as "loop", "branch",
  /// "conv".
  [[nodiscard]] std::vector<std::pair<std::string, int>> operators() const;

  /// Returns a page of HTML, or its data, that shows the model: its graph, each loop with its
  /// strategy and what would help, the memory of a run, the states of a stream, and programs to
  /// copy. Runs nothing: sizes, strategies and memory are those of the last run or, before the
  /// first, of a model that fixes the sizes of its inputs. Thread safe. Errors: unsupported (the
  /// page, in a library that was built without it), out_of_memory.
  [[nodiscard]] Expected<std::string> report(const ReportOptions& options = {}) const;
  /// Also runs the model with the feeds and shows where the time goes. Errors: also those of `run`,
  /// and invalid_argument (options.runs outside [0, 1000]).
  [[nodiscard]] Expected<std::string> report(std::span<const Feed> feeds,
                                             const ReportOptions& options = {}) const;
  [[nodiscard]] Expected<std::string> report(std::initializer_list<Feed> feeds,
                                             const ReportOptions& options = {}) const {
    return report(std::span(feeds.begin(), feeds.size()), options);
  }

 private:
  friend class Function;
  friend class ManyRuns;
  friend class Specialised;
  friend class Stream;
  explicit Session(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

/// Everything a stream keeps from one push to the next, to move to another stream of the same
/// model.
struct StreamState {
  Results states;             ///< those that have a value so far
  Results starts;             ///< inputs set by the user that become states at the first push
  bool begun = false;         ///< a push has succeeded since creation or the last reset
  bool contradicted = false;  ///< the model gave one name to sizes that differed
};

/// State carried between runs. Not thread safe; many streams of one session may run at once. A push
/// commits all states together if it succeeds, none if it fails.
class SCANLOOM_API Stream {
 public:
  /// Runs with the feeds and the kept states; returns the other outputs and the new states.
  Expected<Results> push(std::span<const Feed> feeds, const RunOptions& options = {});
  Expected<Results> push(std::initializer_list<Feed> feeds, const RunOptions& options = {}) {
    return push(std::span(feeds.begin(), feeds.size()), options);
  }
  /// Sets one state. Errors: not_found, invalid_argument (type).
  Expected<void> set(std::string_view input, const View& value);
  /// The value of a state, by its name in Session::states(); its initial value before the first
  /// push. Errors: not_found (no such state, or one whose initial value the first push computes).
  [[nodiscard]] Expected<Value> get(std::string_view state) const;
  /// Restores the initial values.
  void reset();
  /// Returns everything that the stream keeps; shares the memory of the values.
  [[nodiscard]] StreamState save() const;
  /// Continues as the stream that `state` was saved from; on an error nothing changes. Errors:
  /// invalid_argument (states of another model, values of a wrong type or size).
  Expected<void> restore(const StreamState& state);
  /// Like Session::explain, for the loops that the pushes run.
  [[nodiscard]] std::string explain() const;
  /// Like Session::report, for the program that the pushes run, with the sizes of the states that
  /// the stream keeps. Runs nothing: sizes, strategies and memory are those of the last push.
  [[nodiscard]] Expected<std::string> report(const ReportOptions& options = {}) const;

 private:
  friend class Session;
  struct Impl;
  explicit Stream(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

/// All problems of a model, found in one pass; no errors if it can run.
struct CheckReport {
  std::vector<Error> errors;
  std::vector<std::string> warnings;
};
SCANLOOM_API CheckReport check(const std::string& path, const SessionOptions& options = {});
SCANLOOM_API CheckReport check_bytes(std::span<const std::byte> bytes,
                                     const SessionOptions& options = {});

/// "0.1.0".
SCANLOOM_API std::string_view version() noexcept;

}  // namespace scanloom
