// Function: expressions compiled for repeated calls.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <scanloom/expr.h>
#include <scanloom/options.h>
#include <scanloom/session.h>
#include <scanloom/shared.h>

namespace scanloom {

struct FunctionOptions {
  /// New values of shared variables, set when a call succeeds: all of them, or none.
  Updates updates = {};
  /// Pairs (expression, replacement), substituted before compiling.
  std::vector<std::pair<Expr, Expr>> givens = {};
  /// Shared variables keep their values even if they have a default update.
  bool no_default_updates = false;
  /// Shared variables that keep their values even if they have a default update.
  std::vector<Shared> without_default_update = {};
  std::string name = {};
  /// Names of outputs in exported models. An output without one takes its expression's name.
  std::vector<std::string> output_names = {};
  SessionOptions session = {};
};

/// May be called from many threads. Each call reads all shared variables at one moment and sets all
/// that it updates at another; calls that update the same variable take turns. The first call
/// compiles a version for the sizes of its values; a size that changes later is open in the next
/// version.
class SCANLOOM_API Function {
 public:
  /// Compiles `outputs` as a function of `inputs`, which are expressions made by input(); calls
  /// pass their values in the same order. Errors: the first that an expression holds, a variable
  /// that is not among the inputs, an update of another type.
  static Expected<Function> compile(const std::vector<Expr>& inputs,
                                    const std::vector<Expr>& outputs,
                                    const FunctionOptions& options = {});

  /// Computes the outputs. A call that fails leaves shared variables unchanged. Errors:
  /// invalid_argument (wrong number, types or sizes of values; an index out of range; a call made
  /// from the progress function of a call that updates the same variable), limit_reached,
  /// cancelled, out_of_memory.
  Expected<std::vector<Value>> call(std::span<const View> values, const RunOptions& options = {},
                                    RunReport* report = nullptr) const;
  Expected<std::vector<Value>> operator()(std::initializer_list<View> values) const {
    return call(std::span(values.begin(), values.size()));
  }

  /// Runs sequences of unequal lengths, each with the bits that a call has; see many.h, which
  /// declares what this takes and returns. Feeds are named as in sequence_inputs(). Shared
  /// variables have the values of now for all sequences. Sequences share runs as lanes or in
  /// padded batches as far as nodes allow it; they need no batch. Errors: invalid_argument
  /// (options; the function updates a shared variable, so the order of calls matters).
  [[nodiscard]] Expected<ManyRuns> run_many(
      std::function<Expected<std::optional<SequenceFeeds>>()> source,
      const ManyOptions& options) const;
  /// The inputs as run_many() names them: like inputs(), but no two have the same name. Valid as
  /// long as a copy of the function exists. Error: out_of_memory.
  [[nodiscard]] Expected<std::span<const ValueInfo>> sequence_inputs() const;

  /// Writes the function and the current values of its shared variables: text and elements, no
  /// machine code. load() returns `note`. Error: the file cannot be written; it is then unchanged.
  Expected<void> save(const std::string& path, std::string_view note = {}) const;
  /// Reads a file written by save(). The shared variables are new ones. Errors: not_found,
  /// invalid_model (damaged), unsupported (saved by a newer version).
  static Expected<Function> load(const std::string& path, const SessionOptions& options = {},
                                 std::string* note = nullptr);

  /// Returns an equivalent ONNX model; loops become Scan or Loop nodes. Shared variables that are
  /// only read become initialisers with their current values; those that are updated become inputs,
  /// and their next values outputs called "<name>_next". Names are those of inputs and outputs,
  /// with _ for spaces and a number added to duplicates. Errors: unsupported, listing all operators
  /// that have no ONNX form; a model above 2 GB, which needs a path.
  [[nodiscard]] Expected<std::string> to_onnx() const;
  /// Writes the ONNX model; `external_data` puts weights into a separate file `<path>.data`, as
  /// always happens above 2 GB. Errors: also invalid_argument (the file cannot be written).
  Expected<void> to_onnx(const std::string& path, bool external_data = false) const;
  /// Writes an equivalent OpenVINO IR: `path`, which ends in .xml, and a .bin next to it. Shared
  /// variables that are read and updated become variables of the IR (ReadValue and Assign) and
  /// begin with their current values.
  Expected<void> to_openvino(const std::string& path) const;

  /// The shared variables that the function reads, then those that it only sets.
  [[nodiscard]] std::vector<Shared> shared() const;
  /// Returns a function of the same program that reads and sets other shared variables, given in
  /// the order of shared(). Errors: invalid_argument (wrong number of variables, another type, a
  /// duplicate).
  [[nodiscard]] Expected<Function> with_shared(const std::vector<Shared>& variables) const;
  [[nodiscard]] std::size_t output_count() const noexcept;

  /// Names and types of the inputs, without shared variables.
  [[nodiscard]] std::span<const ValueInfo> inputs() const noexcept;
  /// Describes every loop in the version for the sizes of the last call.
  [[nodiscard]] std::string explain() const;
  /// The module of that version after passes, as text.
  [[nodiscard]] std::string ir() const;
  /// Same as Session::report, for the version of the last call. Calls nothing.
  [[nodiscard]] Expected<std::string> report(const ReportOptions& options = {}) const;
  /// Same, for these values: computes the outputs to time them, but sets no shared variable.
  [[nodiscard]] Expected<std::string> report(std::span<const View> values,
                                             const ReportOptions& options = {}) const;

 private:
  struct Impl;
  struct Export;
  explicit Function(std::shared_ptr<const Impl> impl);
  /// The module and its names in exported formats. `with_states`: shared variables that are updated
  /// are states of the module.
  [[nodiscard]] Expected<Export> exported(bool with_states) const;

  std::shared_ptr<const Impl> impl_;
};

}  // namespace scanloom
