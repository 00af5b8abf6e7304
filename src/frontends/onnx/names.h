// Interned names of values. Lookups compare numbers, so no text is compared twice.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "base/utf8.h"

namespace scanloom::onnx {

/// Invalid for the empty name, which means an absent operand.
using NameId = Id<struct NameTag>;

/// Shortens a name for locations, messages and values. A name is copied at each use of its value,
/// in each call of a function and in each body that reads it; the file size limits the length of
/// names, but not the total of these copies.
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
  /// Returns a new name with the same text, which no text in the file refers to.
  NameId fresh(NameId like) {
    names_.push_back(names_[like.index]);
    return NameId(names_.size() - 1);
  }
  [[nodiscard]] std::string_view text(NameId id) const { return names_[id.index]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  std::unordered_map<std::string_view, NameId> ids_;  // looked up, never iterated
  std::vector<std::string_view> names_;
};

}  // namespace scanloom::onnx
