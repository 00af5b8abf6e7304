// The attributes of tree_ensemble, as arrays: inner nodes, and leaves that refer to ranges of
// weights. The operator checks them; its reference and its kernel read them through this view.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tensor/attr.h"

namespace scanloom::tensor {

/// Positions of the attributes.
enum class TreeAttr : std::size_t {
  roots,
  features,
  thresholds,
  missing_true,
  when_true,
  when_false,
  leaf_starts,
  leaf_targets,
  leaf_weights,
  targets,
  aggregate,
};

/// How the weights that trees give to one target become one number.
enum class TreeAggregate : std::uint8_t { sum, min, max };

/// A branch leads to inner node `to` if it is not negative, and to leaf -1 - to otherwise. Inner
/// nodes lead only to nodes after them, so that paths end. Real is the type of x.
template <class Real>
struct TreeTables {
  std::span<const std::int64_t> roots;
  std::span<const std::int32_t> features, when_true, when_false;
  std::span<const Real> thresholds;
  std::span<const bool> missing_true;
  std::span<const std::int32_t> leaf_starts, leaf_targets;
  std::span<const Real> leaf_weights;
  std::int64_t targets = 0;
  TreeAggregate aggregate = TreeAggregate::sum;

  /// Precondition: the operator has checked the attributes.
  static TreeTables of(std::span<const Attr> attrs) {
    const auto attr = [&](TreeAttr which) -> const Attr& {
      return attrs[static_cast<std::size_t>(which)];
    };
    const auto ints = [&](TreeAttr which) { return elements<std::int32_t>(attr(which)); };
    const std::string& how = attr(TreeAttr::aggregate).text();
    return {.roots = attr(TreeAttr::roots).integers(),
            .features = ints(TreeAttr::features),
            .when_true = ints(TreeAttr::when_true),
            .when_false = ints(TreeAttr::when_false),
            .thresholds = elements<Real>(attr(TreeAttr::thresholds)),
            .missing_true = elements<bool>(attr(TreeAttr::missing_true)),
            .leaf_starts = ints(TreeAttr::leaf_starts),
            .leaf_targets = ints(TreeAttr::leaf_targets),
            .leaf_weights = elements<Real>(attr(TreeAttr::leaf_weights)),
            .targets = attr(TreeAttr::targets).integer(),
            .aggregate = how == "min"   ? TreeAggregate::min
                         : how == "max" ? TreeAggregate::max
                                        : TreeAggregate::sum};
  }

  [[nodiscard]] std::int64_t leaves() const {
    return static_cast<std::int64_t>(leaf_starts.size()) - 1;
  }

 private:
  template <class T>
  static std::span<const T> elements(const Attr& attr) {
    return attr.tensor().as<T>();
  }
};

/// Returns what a target has before the first tree. For minima and maxima, NaN stands for no weight
/// so far.
template <class Real>
[[nodiscard]] constexpr Real first_score(TreeAggregate aggregate) {
  return aggregate == TreeAggregate::sum ? Real(0) : std::numeric_limits<Real>::quiet_NaN();
}

/// Adds the weight of one more tree to the score of a target.
template <class Real>
[[nodiscard]] constexpr Real next_score(TreeAggregate aggregate, Real score, Real weight) {
  if (aggregate == TreeAggregate::sum) return score + weight;
  if (score != score) return weight;
  return (aggregate == TreeAggregate::min ? weight < score : weight > score) ? weight : score;
}

/// Returns the score after the last tree: 0 if no tree has a weight for the target.
template <class Real>
[[nodiscard]] constexpr Real last_score(TreeAggregate aggregate, Real score) {
  return aggregate != TreeAggregate::sum && score != score ? Real(0) : score;
}

}  // namespace scanloom::tensor
