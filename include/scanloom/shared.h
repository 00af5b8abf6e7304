// Shared: a value that functions read and update and that persists between calls. RandomStreams:
// streams of random numbers whose keys are such values.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <scanloom/expr.h>

namespace scanloom {

namespace expr {
struct SharedVariable;
}

/// A handle; copies refer to the same variable. Converts to Expr. Reading and setting are safe from
/// any thread. A call of a function sees one value throughout: it ignores a set() that happens
/// while it runs, and overwrites it if the call updates the variable. An update that writes part of
/// the value (set_subtensor, increment_subtensor) costs only that part, unless the value has been
/// read since the last update: a value that was handed out is never written to.
class SCANLOOM_API Shared {
 public:
  /// Copies the elements of `value`. The axes listed in `units` have size 1 and keep it, which lets
  /// them broadcast; the sizes of other axes may change.
  Shared(std::string name, const View& value, const Axes& units = {});
  explicit Shared(Expr variable) : variable_(std::move(variable)) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Shared(std::string name, T value) : Shared(std::move(name), view(&value, {})) {}

  operator const Expr&() const noexcept { return variable_; }
  [[nodiscard]] const Expr& variable() const noexcept { return variable_; }
  /// Shares memory with the variable until the variable changes; the returned value never does. An
  /// f32[] without elements if this is not a shared variable or holds an error.
  [[nodiscard]] Value value() const;
  /// Errors: not a shared variable; another element type or rank; an axis that has size 1 by type
  /// and not in `value`.
  Expected<void> set(const View& value);

  /// The value that functions reading the variable set it to when they finish, unless their options
  /// say otherwise. Reads inside loops that themselves update the variable do not count; the
  /// updates of those loops say what becomes of it.
  [[nodiscard]] Expr default_update() const;
  /// An update of another type than the variable is an error of the functions that read it.
  void set_default_update(const Expr& next);

  friend bool operator==(const Shared& a, const Shared& b) noexcept {
    return a.variable_ == b.variable_;
  }

 private:
  Expr variable_;
};

/// Whether the expression is a shared variable.
[[nodiscard]] SCANLOOM_API bool is_shared(const Expr& x) noexcept;

/// New values of shared variables, in the order in which they were added; or the error of the loop
/// that should have produced them, which Function::compile reports.
class SCANLOOM_API Updates {
 public:
  using Entry = std::pair<Shared, Expr>;
  Updates() = default;
  Updates(std::initializer_list<Entry> entries) : entries_(entries) {}

  /// Updates of a loop that is wrong: every entry is `bad`, which holds the error.
  [[nodiscard]] static Updates failed(Expr bad);

  /// The error that the updates hold, or nullptr.
  [[nodiscard]] const Error* error() const noexcept { return failed_.error(); }
  /// The new value; an undefined expression if there is none.
  [[nodiscard]] Expr operator[](const Shared& variable) const;
  void set(const Shared& variable, Expr next);
  /// For a random stream, keeps the value that is further along. Error: both set another variable
  /// to different values, or `other` holds an error, which this object then holds as well.
  Expected<void> merge(const Updates& other);
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  std::vector<Entry> entries_;
  Expr failed_;
};

/// Streams of random numbers from one seed. Each draw is a stream of its own: independent of all
/// others, the same on every machine, and advanced by one with every call of a function, or every
/// step of a loop, that draws from it. A function that draws only inside loops must be given the
/// updates of those loops; otherwise every call draws the same numbers.
///
/// The bits are those of Philox 4x32-10 (Salmon et al., SC'11), keyed by seed and stream and
/// counted by draw and element.
class SCANLOOM_API RandomStreams {
 public:
  explicit RandomStreams(std::uint64_t seed = 0);
  /// Uniform numbers in [0, 1) of the given shape.
  Expr uniform(const Expr& shape, DType dtype = DType::f64);
  /// Normal numbers with mean 0 and deviation 1.
  Expr normal(const Expr& shape, DType dtype = DType::f64);
  /// Restarts all streams from another seed.
  void seed(std::uint64_t seed);
  /// Each stream and its value after the draws.
  [[nodiscard]] Updates updates() const;

 private:
  Expr draw(const char* kind, const Expr& shape, DType dtype);

  std::uint64_t seed_;
  std::vector<Shared> streams_;
};

}  // namespace scanloom
