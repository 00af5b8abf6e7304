// What stands behind a Shared: the value, and how it is made by default.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// A copy of `value` never changes: an update replaces the value, or writes in place if there is no
/// other holder.
struct SharedVariable {
  std::string name;
  std::vector<std::int64_t> sizes;  ///< of its type; -1: open
  std::recursive_mutex turn;        ///< of the calls that update it
  bool is_updated = false;          ///< guarded by turn: such a call runs
  std::mutex mutex;
  tensor::Tensor value;  ///< guarded by mutex
  /// Guarded by mutex: its memory was made for this value, and was passed only to HeldValues.
  bool is_own = false;
  bool counts = false;  ///< of a random stream: the number of the next draw, and the key
  /// The default update as an expression of `self`, a placeholder: an expression of the variable
  /// itself would own it.
  Expr self, next;
};

using SharedVariables = std::vector<std::shared_ptr<SharedVariable>>;

[[nodiscard]] tensor::Tensor value_of(SharedVariable& variable);
/// is_own: nothing else refers to the memory of the value.
void set_value(SharedVariable& variable, tensor::Tensor value, bool is_own);
/// The values that they have at one moment.
[[nodiscard]] std::vector<tensor::Tensor> values_of(const SharedVariables& variables);

/// The values of one moment for a run: they are given back under the locks of the variables, so
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

/// The next value of a variable: `value` itself, or, with `write`, the previous value with parts
/// overwritten.
struct NextValue {
  tensor::Tensor value;
  std::function<void(void* elements)> write;
};

/// Sets all of them, distinct ones, at one moment. Parts are written to a value in place, unless
/// there is another holder: then to a copy. Errors: out_of_memory, and none is set.
Expected<void> set_values(const SharedVariables& variables, std::vector<NextValue> next);

/// The turn of a call: those that update the same variable run one after the other.
class Turn {
 public:
  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn();
  /// Waits for other threads. Error: a call that updates one of them has called this one, whose
  /// update would be lost.
  Expected<void> take(SharedVariables variables);

 private:
  SharedVariables taken_;
};

/// Error: it is none, or holds one.
[[nodiscard]] Expected<void> check_shared(const Expr& variable);
/// Error: `other` is no shared variable, or `old` cannot have its value. Calls check later values.
[[nodiscard]] Expected<void> check_replacement(const Expr& old, const Expr& other);
/// Error: it is missing or holds one, or is of another type than the variable.
[[nodiscard]] Expected<void> check_update(const Expr& variable, const Expr& next);
/// Undefined where there is none.
[[nodiscard]] Expr default_update(const Expr& variable);

/// A shared variable with that value, which it shares. `sizes` are those of its type; none: all are
/// open.
[[nodiscard]] Expr shared_of(std::string name, tensor::Tensor value,
                             std::vector<std::int64_t> sizes = {});
/// Error: sizes that the variable's type excludes.
[[nodiscard]] Expected<void> check_sizes(const SharedVariable& variable,
                                         std::span<const std::int64_t> sizes);

/// The shared variables that the expressions read, in the order in which they were made.
[[nodiscard]] std::vector<Expr> shared_variables(std::span<const Expr> outputs);
}  // namespace scanloom::expr
