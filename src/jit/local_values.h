// LocalValues: the contents of the code's own memory, as far as registers hold them. A load that
// straddles earlier stores waits for them to reach the cache; taken from registers the value costs
// a shuffle.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <map>
#include <vector>

#include "jit/interface.h"

namespace scanloom::jit {

/// Tracks straight-line code: values are known from their store to the next control flow.
class LocalValues {
 public:
  /// Records that `value` is stored there, with adjacent lanes from `offset` bytes on.
  void store(std::int32_t slot, DType dtype, std::int64_t offset, unsigned width,
             llvm::Value* value);
  /// Forgets one slot, or all of them, when something may have been stored there.
  void forget(std::int32_t slot) { pieces_.erase(slot); }
  void forget() { pieces_.clear(); }

  /// Returns `width` lanes from `offset` bytes on; nullptr if they are not known.
  llvm::Value* load(llvm::IRBuilder<>& builder, std::int32_t slot, DType dtype, std::int64_t offset,
                    unsigned width) const;

 private:
  struct Piece {
    DType dtype;
    std::int64_t begin, end;  ///< bytes
    std::int64_t origin;      ///< where the value's first lane would be
    llvm::Value* value;
  };
  /// By slot: sorted, without overlap.
  std::map<std::int32_t, std::vector<Piece>> pieces_;
};

}  // namespace scanloom::jit
