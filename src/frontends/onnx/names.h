// Names of values as numbers, so that looking one up never compares text twice.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "base/utf8.h"

namespace scanloom::onnx {

/// Invalid: the empty name, which stands for an absent operand.
using NameId = Id<struct NameTag>;

/// A name as places, messages and values show it. The same name stands at every use of what it
/// names, in every call of a function and in every body that reads it: the file bounds the length
/// of names, not of all these copies.
inline std::string shown_name(std::string_view name) { return shortened(name, 256); }

class NameTable {
 public:
  /// `name` must outlive the table.
  NameId intern(std::string_view name) {
    if (name.empty()) return {};
    const auto [position, is_new] = ids_.try_emplace(name, NameId(names_.size()));
    if (is_new) names_.push_back(name);
    return position->second;
  }
  /// Returns a new name with that text, to which no text in the file refers.
  NameId fresh(NameId like) {
    names_.push_back(names_[like.index]);
    return NameId(names_.size() - 1);
  }
  [[nodiscard]] std::string_view text(NameId id) const { return names_[id.index]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  std::unordered_map<std::string_view, NameId> ids_;  // looked up, never walked
  std::vector<std::string_view> names_;
};

}  // namespace scanloom::onnx
