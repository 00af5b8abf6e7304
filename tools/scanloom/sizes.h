// Sizes that a model leaves open: given by --dim, or learnt from tensors that are fed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <scanloom/session.h>

namespace scanloom::cli {

class Sizes {
 public:
  /// `dims` are of the form NAME=SIZE or INPUT.AXIS=SIZE. Throws Failure where the model has no
  /// such size, or where one is given twice.
  Sizes(const Session& session, const std::vector<std::string>& dims);

  /// Learns from a tensor that is fed. Throws Failure where it contradicts a size that was given.
  void learn(const ValueInfo& input, const View& tensor);

  /// What --dim says of the axes of an input; -1: nothing.
  [[nodiscard]] std::vector<std::int64_t> given_for(const ValueInfo& input) const;

  /// For a tensor that is made. Says on stderr which sizes nothing tells: they are 1.
  [[nodiscard]] std::vector<std::int64_t> shape_of(const ValueInfo& input) const;

 private:
  using ByName = std::map<std::string, std::int64_t, std::less<>>;

  /// What --dim says of an axis: by its place, by its name, or nullptr. Throws Failure when the two
  /// differ.
  [[nodiscard]] const ByName::value_type* given_for(const ValueInfo& input, std::size_t axis) const;

  ByName given_;   ///< by the name of a dimension or by "input.axis"
  ByName learnt_;  ///< by the name of a dimension
};

}  // namespace scanloom::cli
