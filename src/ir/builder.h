// Builder: appends nodes to a region and infers their types. Used by front-ends and tests.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "ir/op_def.h"

namespace scanloom::ir {

struct NamedAttr {
  std::string_view name;
  Attr value;
};

class Builder {
 public:
  Builder(Module& module, RegionId region) : module_(module), region_(region) {}

  [[nodiscard]] Module& module() { return module_; }
  [[nodiscard]] RegionId region() const { return region_; }
  /// Sets the location of nodes appended from now on.
  void set_location(LocationId location) { location_ = location; }

  /// Appends a node with `outputs` results. Attributes are given by name; omitted ones are absent.
  /// Infers the result types. Errors name the location. Outside the top region, where a node may
  /// never run, sizes that do not fit are not yet an error: the results are unranked, and infer()
  /// decides. Precondition: op is none of loop, branch, constant (Module::add_node makes the first
  /// two).
  Expected<NodeId> node(const OpDef& op, std::vector<ValueId> inputs,
                        std::vector<NamedAttr> attrs = {}, std::size_t outputs = 1);
  /// node() with one result.
  Expected<ValueId> op(const OpDef& op, std::vector<ValueId> inputs,
                       std::vector<NamedAttr> attrs = {});
  ValueId constant(Tensor value);

  /// Returns the facts known about the value at this point: a constant's elements, or integers that
  /// are sizes; nullptr if there are none.
  [[nodiscard]] std::shared_ptr<const Known> known(ValueId value);
  /// Records what is known of an argument of the region.
  void learn(ValueId argument, std::shared_ptr<const Known> known) {
    if (known != nullptr) known_[argument] = std::move(known);
  }

 private:
  Module& module_;
  RegionId region_;
  LocationId location_;
  std::map<ValueId, std::shared_ptr<const Known>> known_;  // of constants, and of sizes computed
                                                           // here
};

}  // namespace scanloom::ir
