// Function: expressions made ready to compute, over and over.
#pragma once

#include <initializer_list>
#include <memory>
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
  /// What shared variables are set to when a call has succeeded: all of them, or none.
  Updates updates = {};
  /// What stands for expressions that would be inputs otherwise.
  std::vector<std::pair<Expr, Expr>> givens = {};
  /// Shared variables keep their values although they have a default update.
  bool no_default_updates = false;
  /// The same of these alone.
  std::vector<Shared> without_default_update = {};
  std::string name = {};
  /// What outputs are called in models that are written; empty, or too few: the expression's name.
  std::vector<std::string> output_names = {};
  SessionOptions session = {};
};

/// Calls may be made from many threads: each sees the values that shared variables have at one
/// moment, and sets all that it updates at another; those that update the same variable take turns.
/// A version for the sizes of its values is made by the first call; sizes that change later are
/// open in the next version.
class SCANLOOM_API Function {
 public:
  /// Inputs are expressions made by input(), in the order in which calls give their values. Errors:
  /// the first that an expression holds, a variable that is no input, an update of another type.
  static Expected<Function> compile(const std::vector<Expr>& inputs,
                                    const std::vector<Expr>& outputs,
                                    const FunctionOptions& options = {});

  /// Computes the outputs. A call that fails leaves shared variables as they were. Errors:
  /// invalid_argument (as many values as inputs, their types and sizes, indices; made by the
  /// progress function of a call that updates the same variable), limit_reached, cancelled,
  /// out_of_memory.
  Expected<std::vector<Value>> call(std::span<const View> values, const RunOptions& options = {},
                                    RunReport* report = nullptr) const;
  Expected<std::vector<Value>> operator()(std::initializer_list<View> values) const {
    return call(std::span(values.begin(), values.size()));
  }

  /// Writes the function and the values that its shared variables have now: text and elements, no
  /// machine code. `note` comes back when it is loaded. Error: the file cannot be written; it is
  /// then as it was.
  Expected<void> save(const std::string& path, std::string_view note = {}) const;
  /// Reads what save() has written. Its shared variables are new ones. Errors: not_found,
  /// invalid_model (damaged), unsupported (saved by a newer version).
  static Expected<Function> load(const std::string& path, const SessionOptions& options = {},
                                 std::string* note = nullptr);

  /// An ONNX model that computes the same: loops are Scan or Loop nodes. Shared variables that stay
  /// are initialisers with the values that they have now; those that are updated are inputs, and
  /// their next values outputs, called "<name>_next". Names are those of inputs and outputs, with
  /// _ for spaces, and with a number where two are the same. Errors: unsupported, with all
  /// operators that have no ONNX form; a model above 2 GB, which needs a path.
  [[nodiscard]] Expected<std::string> to_onnx() const;
  /// Writes it; `external_data` puts weights into a file beside it, `<path>.data`, as happens above
  /// 2 GB in any case. Errors: also invalid_argument (the file cannot be written).
  Expected<void> to_onnx(const std::string& path, bool external_data = false) const;
  /// Writes the same as an IR of OpenVINO: `path`, which ends in .xml, and a .bin beside it. Shared
  /// variables that are read and updated are variables of the IR (ReadValue and Assign), which
  /// begin with the values that they have now.
  Expected<void> to_openvino(const std::string& path) const;

  /// The shared variables that it reads, then those that it only sets.
  [[nodiscard]] std::vector<Shared> shared() const;
  /// Returns a function of the same program that reads and sets other shared variables, in the
  /// order of shared(). Errors: invalid_argument (another number of them, one of another type, one
  /// given twice).
  [[nodiscard]] Expected<Function> with_shared(const std::vector<Shared>& variables) const;
  [[nodiscard]] std::size_t output_count() const noexcept;

  /// The inputs' names and types; those of shared variables are not among them.
  [[nodiscard]] std::span<const ValueInfo> inputs() const noexcept;
  /// What became of every loop in the version for the sizes of the last call.
  [[nodiscard]] std::string explain() const;
  /// The module of that version after passes.
  [[nodiscard]] std::string ir() const;

 private:
  struct Impl;
  struct Export;
  explicit Function(std::shared_ptr<const Impl> impl);
  /// The module and the names under which it is written in other formats.
  /// `with_states`: shared variables that are updated are states of the module.
  [[nodiscard]] Expected<Export> exported(bool with_states) const;

  std::shared_ptr<const Impl> impl_;
};

}  // namespace scanloom
