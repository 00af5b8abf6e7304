// What stands behind a Shared: the value, and how it is made by default.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// `value` is replaced as a whole, never written to: who holds a copy keeps what it saw.
struct SharedVariable {
  std::string name;
  std::vector<std::int64_t> sizes;  ///< of its type; -1: open
  std::recursive_mutex turn;        ///< of the calls that update it
  bool is_updated = false;          ///< guarded by turn: such a call runs
  std::mutex mutex;
  tensor::Tensor value;  ///< guarded by mutex
  bool counts = false;   ///< of a random stream: the number of the next draw, and the key
  /// The default update as an expression of `self`, a placeholder: an expression of the variable
  /// itself would own it.
  Expr self, next;
};

using SharedVariables = std::vector<std::shared_ptr<SharedVariable>>;

[[nodiscard]] tensor::Tensor value_of(SharedVariable& variable);
void set_value(SharedVariable& variable, tensor::Tensor value);
/// The values that they have at one moment.
[[nodiscard]] std::vector<tensor::Tensor> values_of(const SharedVariables& variables);
/// Sets all of them, distinct ones, at one moment.
void set_values(const SharedVariables& variables, std::vector<tensor::Tensor> values);

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
