// Shared: a value that functions read and update, kept between their calls; and streams of random
// numbers, whose keys are such values.
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

/// A handle; copies name the same variable. It can stand wherever an Expr can. Reading and setting
/// are safe from any thread. A call of a function sees one value throughout: what is set while it
/// runs it does not see, and replaces where it updates the variable. An update that writes to a
/// part of the value (set_subtensor, increment_subtensor) costs the part, not the value, unless the
/// value has been asked for since the last update: such a value is never written to.
class SCANLOOM_API Shared {
 public:
  /// The elements of `value` are copied. Axes named in `units` are of size 1 and stay so, which
  /// lets them broadcast; the sizes of others may change.
  Shared(std::string name, const View& value, const Axes& units = {});
  explicit Shared(Expr variable) : variable_(std::move(variable)) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Shared(std::string name, T value) : Shared(std::move(name), view(&value, {})) {}

  operator const Expr&() const noexcept { return variable_; }
  [[nodiscard]] const Expr& variable() const noexcept { return variable_; }
  /// Shares memory with the variable until that changes, and stays as it is. f32[] without elements
  /// of what is no shared variable, or holds an error.
  [[nodiscard]] Value value() const;
  /// Error: it is no shared variable; another element type or rank, or an axis that is of size 1 by
  /// type and is not here.
  Expected<void> set(const View& value);

  /// What functions that read it set it to when they are done, unless they are told otherwise. To
  /// be read by loops alone that update it does not count: what they make of it, their updates say.
  [[nodiscard]] Expr default_update() const;
  /// One of another type than the variable is an error of functions that read it.
  void set_default_update(const Expr& next);

  friend bool operator==(const Shared& a, const Shared& b) noexcept {
    return a.variable_ == b.variable_;
  }

 private:
  Expr variable_;
};

/// Whether the expression is a shared variable.
[[nodiscard]] SCANLOOM_API bool is_shared(const Expr& x) noexcept;

/// What becomes of shared variables, in the order in which they were named; or the error of the
/// loop that should have said it, which Function::compile reports.
class SCANLOOM_API Updates {
 public:
  using Entry = std::pair<Shared, Expr>;
  Updates() = default;
  Updates(std::initializer_list<Entry> entries) : entries_(entries) {}

  /// Of a loop that is wrong: every entry is `bad`, which holds the error.
  [[nodiscard]] static Updates failed(Expr bad);

  /// The error that they hold; nullptr where they hold none.
  [[nodiscard]] const Error* error() const noexcept { return failed_.error(); }
  /// The new value; an undefined expression where there is none.
  [[nodiscard]] Expr operator[](const Shared& variable) const;
  void set(const Shared& variable, Expr next);
  /// Of a random stream the value that is further on is taken. Error: both set another variable to
  /// different values; `other` holds one, which is then held here, too.
  Expected<void> merge(const Updates& other);
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  std::vector<Entry> entries_;
  Expr failed_;
};

/// Streams of random numbers from one seed. Each draw is a stream of its own: independent of all
/// others, the same on every machine, advanced by one with every call of a function that draws
/// from it and with every step of a loop that does. A function whose draws all stand in loops must
/// be given the updates of these: without them every call draws the same numbers.
///
/// Bits are those of Philox 4x32-10 (Salmon et al., SC'11), keyed by seed and stream and counted
/// by draw and element.
class SCANLOOM_API RandomStreams {
 public:
  explicit RandomStreams(std::uint64_t seed = 0);
  /// In [0, 1), of that shape.
  Expr uniform(const Expr& shape, DType dtype = DType::f64);
  /// Mean 0, deviation 1.
  Expr normal(const Expr& shape, DType dtype = DType::f64);
  /// Begins all streams anew from another seed.
  void seed(std::uint64_t seed);
  /// All streams and what a draw makes of them.
  [[nodiscard]] Updates updates() const;

 private:
  Expr draw(const char* kind, const Expr& shape, DType dtype);

  std::uint64_t seed_;
  std::vector<Shared> streams_;
};

}  // namespace scanloom
