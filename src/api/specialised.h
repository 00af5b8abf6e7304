// Specialised: a function's module, prepared for the sizes of its calls. With numbers for sizes,
// passes know more: which sums undo a broadcast, which parts make up a whole, when one large
// product pays. The first call's sizes are fixed; a size that changes later is open from then on,
// except for 0 and 1, which have versions of their own: they decide what is broadcast. Open sizes
// that have been equal in all calls so far are one size. Where a pass decides by an open size, a
// version is for calls that it decides alike for (ir/size_choices.h).
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "api/impl.h"

namespace scanloom {

/// Thread safe.
class Specialised {
 public:
  /// `versions`: the module to make versions from; it has the same arguments.
  Specialised(ir::Module module, ir::Module versions, SessionOptions options);

  /// The module without passes and with open sizes; feeds are checked against it.
  [[nodiscard]] const Session::Impl& open() const { return *open_; }
  /// Errors: impossible sizes, naming both inputs; errors of passes.
  [[nodiscard]] Expected<std::shared_ptr<Session::Impl>> for_sizes(
      const std::vector<tensor::Shape>& shapes) const;
  /// The version used last; before the first call, one with open sizes.
  [[nodiscard]] Expected<std::shared_ptr<Session::Impl>> latest() const;

 private:
  /// By input and axis: the size of the version, or a negative number if it is open. Open sizes of
  /// the same number are equal.
  using Sizes = std::vector<std::vector<std::int64_t>>;
  struct Version {
    Sizes sizes;
    std::vector<std::pair<std::size_t, int>> open;  ///< by open symbol: an input and an axis
    std::shared_ptr<Session::Impl> program;
  };
  static constexpr std::size_t kVersions = 64;  ///< kept; the least recently used goes first

  static bool fits(const Version& version, const std::vector<tensor::Shape>& shapes);
  /// nullptr if there is none; the mutex must be locked.
  [[nodiscard]] std::shared_ptr<Session::Impl> find(const std::vector<tensor::Shape>& shapes) const;
  [[nodiscard]] Expected<void> check(const std::vector<tensor::Shape>& shapes) const;
  [[nodiscard]] Sizes widened(const std::vector<tensor::Shape>& shapes) const;
  /// `shapes`: of the call that it is made for; empty if there is none.
  [[nodiscard]] Expected<Version> make(Sizes sizes, const std::vector<tensor::Shape>& shapes) const;

  SessionOptions options_;
  std::shared_ptr<Session::Impl> open_;
  ir::Module source_;  ///< for the versions
  mutable std::mutex mutex_;
  mutable std::vector<Version> versions_;  ///< guarded; most recently used first
};

}  // namespace scanloom
