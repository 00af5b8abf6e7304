// Specialised: a function's module made ready for the sizes that its calls bring. With numbers for
// sizes the passes know more: which sums are broadcasts undone, which parts make a whole, what one
// large product is worth. The first call's sizes are taken as they are; a size that changes from
// then on is open, so that there are at most as many versions as there are sizes.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "api/impl.h"

namespace scanloom {

/// Thread safe.
class Specialised {
 public:
  /// `versions`: what versions are made of; the same arguments.
  Specialised(ir::Module module, ir::Module versions, SessionOptions options);

  /// The module without passes, with open sizes: what feeds are checked against.
  [[nodiscard]] const Session::Impl& open() const { return *open_; }
  /// Errors: sizes that cannot be, naming both inputs; what passes find wrong.
  [[nodiscard]] Expected<std::shared_ptr<Session::Impl>> for_sizes(
      const std::vector<tensor::Shape>& shapes) const;
  /// The version last asked for; one with open sizes before the first call.
  [[nodiscard]] Expected<std::shared_ptr<Session::Impl>> latest() const;

 private:
  /// By input and axis: the size that it is for; -1: any.
  using Sizes = std::vector<std::vector<std::int64_t>>;
  struct Version {
    Sizes sizes;
    std::shared_ptr<Session::Impl> program;
  };
  static constexpr std::size_t kVersions = 8;  ///< kept; that of the longest disuse goes first

  /// nullptr where there is none; the mutex is held.
  [[nodiscard]] std::shared_ptr<Session::Impl> find(const std::vector<tensor::Shape>& shapes) const;
  [[nodiscard]] Expected<void> check(const std::vector<tensor::Shape>& shapes) const;
  [[nodiscard]] Sizes widened(const std::vector<tensor::Shape>& shapes) const;
  [[nodiscard]] Expected<std::shared_ptr<Session::Impl>> make(const Sizes& sizes) const;

  SessionOptions options_;
  std::shared_ptr<Session::Impl> open_;
  ir::Module source_;  ///< of the versions
  mutable std::mutex mutex_;
  mutable std::vector<Version> versions_;  ///< guarded; the last used first
};

}  // namespace scanloom
