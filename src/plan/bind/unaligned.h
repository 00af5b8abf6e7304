// UnalignedConstants: constants of a binding whose data a file stores at any address. They stay
// there if every reader has packed them; otherwise they are replaced by aligned copies.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "plan/bind/location.h"
#include "plan/binding.h"
#include "tensor/tensor.h"

namespace scanloom::plan {

class UnalignedConstants {
 public:
  /// `readers`: all of the constant in the slot.
  void add(SlotId slot, const tensor::Tensor& data, std::uint32_t readers);
  /// Moves the data of these constants to aligned addresses, except of those with a bit in
  /// `packed`. Returns whether there were any.
  bool align(Binding& binding, std::span<const Location> constants, std::uint32_t packed);
  /// Notes a reader of all that are left of these constants, which has packed them.
  void note_packed(std::span<const Location> constants);
  /// Aligns those that not all readers have packed. Call when all is bound.
  void align_others(Binding& binding);

 private:
  struct Constant {
    tensor::Tensor data;
    std::uint32_t readers = 0;  ///< that are not known to have packed it
  };
  bool align(Binding& binding, SlotId slot);

  std::map<SlotId, Constant> constants_;
};

}  // namespace scanloom::plan
