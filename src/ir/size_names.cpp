#include "ir/size_names.h"

#include <cctype>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/op_def.h"
#include "ir/walk.h"

namespace scanloom::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Beginning and end of the next "?126"; npos if there is none. A question mark after a word or a
/// quote is not a size.
std::pair<std::size_t, std::size_t> next_number(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('?', from); at != std::string_view::npos;
       at = text.find('?', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() && is_digit(text[end])) ++end;
    const char before = at > 0 ? text[at - 1] : ' ';
    const bool is_inside = before == '"' || std::isalnum(static_cast<unsigned char>(before)) != 0;
    if (end > at + 1 && !is_inside) return {at, end};
  }
  return {std::string_view::npos, std::string_view::npos};
}

/// The user's name of the value, or of the node that produces it.
std::string label_of(const Module& module, ValueId id) {
  const Value& value = module.value(id);
  if (!value.name.empty()) return value.name;
  if (!value.producer.valid()) return fmt::format("input{}", value.index);
  const std::string node = module.describe(value.producer);
  const std::size_t first = node.find('\''), last = node.find('\'', first + 1);
  const std::string name = last == std::string::npos
                               ? std::string(module.node(value.producer).op->name)
                               : node.substr(first + 1, last - first - 1);
  return module.node(value.producer).outputs.size() > 1 ? fmt::format("{}.{}", name, value.index)
                                                        : name;
}

std::vector<ValueId> values_of(const Module& module) {
  std::vector<ValueId> values;
  for (const RegionId id : regions_outer_first(module, module.top())) {
    const Region& region = module.region(id);
    values.insert(values.end(), region.args.begin(), region.args.end());
    for (const NodeId node : region.nodes) {
      const std::vector<ValueId>& outputs = module.node(node).outputs;
      values.insert(values.end(), outputs.begin(), outputs.end());
    }
  }
  return values;
}

}  // namespace

bool has_numbered_size(std::string_view text) {
  return next_number(text, 0).first != std::string_view::npos;
}

void SizeNames::add(const Module& module) {
  std::set<std::string> used;
  for (const auto& [number, name] : names_) used.insert(name);
  tensor::DimTable texts;  // quotes names that are not identifiers
  const auto name = [&](const std::string& number, const std::string& wanted) {
    if (names_.contains(number)) return;
    std::string text = texts.to_string(texts.symbol(wanted));
    for (int i = 2; !used.insert(text).second; ++i)
      text = texts.to_string(texts.symbol(fmt::format("{}.{}", wanted, i)));
    names_.emplace(number, text);
  };
  const std::vector<ValueId> values = values_of(module);
  // A value whose size is just the symbol gives a better name than one whose size is a sum.
  for (const bool alone : {true, false})
    for (const ValueId id : values) {
      const std::vector<tensor::Dim>& dims = module.value(id).type.dims;
      for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        if (dims[axis].is_constant() || alone != module.dims.is_fresh(dims[axis])) continue;
        const std::string text = module.dims.to_string(dims[axis]);
        for (auto [at, end] = next_number(text, 0); at != std::string::npos;
             std::tie(at, end) = next_number(text, end))
          name(text.substr(at, end - at), fmt::format("{}.{}", label_of(module, id), axis));
      }
    }
}

std::string SizeNames::in(std::string_view text) const {
  std::string named;
  std::size_t done = 0;
  for (auto [at, end] = next_number(text, 0); at != std::string_view::npos;
       std::tie(at, end) = next_number(text, end)) {
    named += text.substr(done, at - done);
    const auto found = names_.find(text.substr(at, end - at));
    named += found == names_.end() ? "?" : found->second;
    done = end;
  }
  return named.append(text.substr(done));
}

Error SizeNames::in(const Error& error) const {
  Error named(error.code(), in(error.text()));
  for (const std::string& note : error.notes()) named.note(in(note));
  return named;
}

Error with_size_names(const Error& error, const Module& module) {
  if (!has_numbered_size(error.message())) return error;
  return SizeNames(module).in(error);
}

}  // namespace scanloom::ir
