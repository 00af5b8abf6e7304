// What the code's own memory holds, as far as it is known in registers. Loads that would straddle
// earlier stores wait for these to reach the cache; taken from registers they cost a shuffle.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <map>
#include <vector>

#include "jit/interface.h"

namespace scanloom::jit {

/// Follows straight code: values are known from where they are stored to where control flow begins.
class LocalValues {
 public:
  /// `value` now lies in that memory, its lanes side by side from `offset` bytes on.
  void store(std::int32_t slot, DType dtype, std::int64_t offset, unsigned width,
             llvm::Value* value);
  /// Something, or anything, may have been stored there.
  void forget(std::int32_t slot) { pieces_.erase(slot); }
  void forget() { pieces_.clear(); }

  /// `width` lanes from `offset` bytes on; nullptr where they are not known.
  llvm::Value* load(llvm::IRBuilder<>& builder, std::int32_t slot, DType dtype, std::int64_t offset,
                    unsigned width) const;

 private:
  struct Piece {
    DType dtype;
    std::int64_t begin, end;  ///< bytes
    std::int64_t origin;      ///< where the value's first lane would lie
    llvm::Value* value;
  };
  /// Of each slot, in order, without overlap.
  std::map<std::int32_t, std::vector<Piece>> pieces_;
};

}  // namespace scanloom::jit
