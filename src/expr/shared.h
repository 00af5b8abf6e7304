// The state that a Shared points to: its value and its default update.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// A copy of `value` never changes: an update replaces the value, or writes in place if nothing
/// else holds it.
struct SharedVariable {
  std::string name;
  std::vector<std::int64_t> sizes;  ///< of its type; -1: open
  std::recursive_mutex turn;        ///< held by the calls that update it
  bool is_updated = false;          ///< guarded by turn: such a call is running
  std::mutex mutex;
  tensor::Tensor value;  ///< guarded by mutex
  /// Guarded by mutex: whether its memory was allocated for this value and passed only to
  /// HeldValues.
  bool is_own = false;
  bool counts = false;  ///< a random stream: the value is the number of the next sample, and the
                        ///< key
  /// The default update as an expression of the placeholder `self`. An expression of the variable
  /// itself would be a reference cycle.
  Expr self, next;
};

using SharedVariables = std::vector<std::shared_ptr<SharedVariable>>;

[[nodiscard]] tensor::Tensor value_of(SharedVariable& variable);
/// is_own: nothing else refers to the memory of the value.
void set_value(SharedVariable& variable, tensor::Tensor value, bool is_own);
/// Returns the values of all variables at one moment.
[[nodiscard]] std::vector<tensor::Tensor> values_of(const SharedVariables& variables);

/// The values of one moment, for a run. They are given back under the locks of the variables, so
/// that later writes to their memory come after everything that the run has read.
class HeldValues {
 public:
  explicit HeldValues(SharedVariables variables);
  HeldValues(const HeldValues&) = delete;
  HeldValues& operator=(const HeldValues&) = delete;
  ~HeldValues() { give_back(); }

  [[nodiscard]] const tensor::Tensor& operator[](std::size_t i) const { return values_[i]; }
  /// Moves out the value of a variable that set_values() will update.
  [[nodiscard]] tensor::Tensor take(std::size_t i) { return std::move(values_[i]); }
  void give_back();

 private:
  SharedVariables variables_;
  std::vector<tensor::Tensor> values_;
};

/// The next value of a variable: `value` itself or, with `write`, the previous value with parts
/// overwritten.
struct NextValue {
  tensor::Tensor value;
  std::function<void(void* elements)> write;
};

/// Sets all variables, which must be distinct, at one moment. Parts are written to a value in
/// place, unless something else holds it: then to a copy. Errors: out_of_memory, and no variable is
/// set.
Expected<void> set_values(const SharedVariables& variables, std::vector<NextValue> next);

/// The turn of a call: calls that update the same variable run one after the other.
class Turn {
 public:
  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn();
  /// Waits for other threads. Error: this call was made by a call that updates one of the
  /// variables, whose update would be lost.
  Expected<void> take(SharedVariables variables);

 private:
  SharedVariables taken_;
};

/// Error: not a shared variable, or an expression that holds an error.
[[nodiscard]] Expected<void> check_shared(const Expr& variable);
/// Error: `other` is not a shared variable, or `old` cannot have its value. Calls check later
/// values.
[[nodiscard]] Expected<void> check_replacement(const Expr& old, const Expr& other);
/// Error: `next` is missing, holds an error, or has another type than the variable.
[[nodiscard]] Expected<void> check_update(const Expr& variable, const Expr& next);
/// Undefined if there is none.
[[nodiscard]] Expr default_update(const Expr& variable);

/// Returns a shared variable that shares the value. `sizes`: those of its type; empty: all are
/// open.
[[nodiscard]] Expr shared_of(std::string name, tensor::Tensor value,
                             std::vector<std::int64_t> sizes = {});
/// Error: sizes that the variable's type excludes.
[[nodiscard]] Expected<void> check_sizes(const SharedVariable& variable,
                                         std::span<const std::int64_t> sizes);

/// The shared variables that the expressions read, in the order in which they were made.
[[nodiscard]] std::vector<Expr> shared_variables(std::span<const Expr> outputs);
}  // namespace scanloom::expr
