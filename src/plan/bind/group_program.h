// GroupProgram: the element programs of a group's nodes (fusion.h), merged into one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/module.h"
#include "ir/scalar_ctx.h"
#include "kernels/row_program.h"
#include "plan/bind/fusion.h"

namespace scanloom::plan {

struct BindContext;

/// Facts about the few values of a group, by ValueId; searched one after the other.
template <class T>
class OfFewValues {
 public:
  T& operator[](std::uint32_t value) {
    const auto found = std::ranges::find(entries_, value, &Entry::value);
    return found != entries_.end() ? found->of : entries_.emplace_back(Entry{value, T{}}).of;
  }
  /// Precondition: there is an entry.
  [[nodiscard]] const T& at(std::uint32_t value) const {
    return std::ranges::find(entries_, value, &Entry::value)->of;
  }
  /// T() if there is no entry.
  [[nodiscard]] T of(std::uint32_t value) const {
    const auto found = std::ranges::find(entries_, value, &Entry::value);
    return found != entries_.end() ? found->of : T();
  }

 private:
  struct Entry {
    std::uint32_t value;
    T of;
  };
  std::vector<Entry> entries_;
};

/// The program of a group, with the values that its call reads and writes.
class GroupProgram {
 public:
  /// `convolved` is the result of the group's convolution, which is none of `nodes`: the program's
  /// first input, if it is valid.
  GroupProgram(const BindContext& ctx, std::span<const ir::NodeId> nodes,
               ir::ValueId convolved = {});

  [[nodiscard]] const kernels::RowProgram& program() const { return rows_; }
  [[nodiscard]] const std::vector<ir::ValueId>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<ir::ValueId>& outputs() const { return outputs_; }
  /// Whether nothing outside of the group reads the value's elements.
  [[nodiscard]] bool has_all_readers_of(ir::ValueId value) const;

 private:
  void add_input(ir::ValueId input);
  void find_inputs(std::span<const ir::NodeId> nodes);
  void add(const ir::Node& node);
  ir::Reg append(const tensor::ScalarInstr& instr, std::optional<kernels::RowFold> fold = {});
  ir::Reg add_elements(const ir::Node& node);
  ir::Reg add_quantization(const ir::Node& node);
  ir::Reg add_reduction(const ir::Node& node);

  const BindContext& ctx_;
  OfFewValues<std::uint32_t> read_by_group_;  // reads within the group
  OfFewValues<ir::Reg> registers_;
  std::vector<ir::ValueId> inputs_, outputs_;
  kernels::RowProgram rows_;
};

}  // namespace scanloom::plan
