// Sizes that a model leaves open: given by --dim, or taken from tensors that are fed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <scanloom/session.h>

namespace scanloom::cli {

class Sizes {
 public:
  /// `dims` have the form NAME=SIZE or INPUT.AXIS=SIZE; the name may be quoted as the text form
  /// of the IR quotes it. Throws Failure if the model has no such
  /// size, or if one is given twice.
  Sizes(const Session& session, const std::vector<std::string>& dims);

  /// Takes the sizes of a tensor that is fed. Throws Failure if it contradicts a given size.
  void learn(const ValueInfo& input, const View& tensor);

  /// Returns the sizes of an input given by --dim; -1: not given.
  [[nodiscard]] std::vector<std::int64_t> given_for(const ValueInfo& input) const;

  /// Returns the shape of a generated tensor. Unknown sizes are 1, and are listed on stderr.
  [[nodiscard]] std::vector<std::int64_t> shape_of(const ValueInfo& input);

  /// The names or "input.axis" of the sizes that were taken as 1.
  [[nodiscard]] const std::vector<std::string>& made_up() const { return made_up_; }

 private:
  using ByName = std::map<std::string, std::int64_t, std::less<>>;

  /// Returns the --dim of an axis, by position or by name, or nullptr. Throws Failure if the two
  /// differ.
  [[nodiscard]] const ByName::value_type* given_for(const ValueInfo& input, std::size_t axis) const;

  ByName given_;   ///< by the name of a dimension or by "input.axis"
  ByName learnt_;  ///< by the name of a dimension
  std::vector<std::string> made_up_;
};

}  // namespace scanloom::cli
