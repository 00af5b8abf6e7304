// Updates of shared variables by loops, or whose next value is also read. Where all of these reads
// and writes name rows by indices that do not depend on the variable, a function need not copy it:
// it collects the indices first, computes on a copy of the rows they name, and writes these back.
// The value stays as it was until the run has succeeded (api/part_updates.h).
#pragma once

#include <cstdint>
#include <vector>

#include "api/split_updates.h"
#include "tensor/dim.h"
#include "tensor/shape.h"

namespace scanloom {

/// A variable of which only some rows are copied.
struct TouchedTable {
  std::size_t argument = 0;
  tensor::Dim rows;     ///< how many are named, counting repeated ones each time
  double per_step = 1;  ///< an estimate for loops, if only the data decide the number of steps
};

struct TouchedForm {
  ir::Module module;
  std::vector<TouchedTable> tables;
};

/// Returns the module with such next values computed from the rows that are touched; `tables` is
/// empty if there is none. The arguments, and the number and order of results, remain.
TouchedForm touched_form(ir::Module module, const UpdateSites& sites);

/// Whether copying the touched rows is estimated to take less time than copying the variables.
/// `shapes` are those of the arguments; `steps` is how many steps to expect of loops if only the
/// data decide, negative if that is unknown, too: then the variables are copied.
[[nodiscard]] bool copies_less(const TouchedForm& form, const std::vector<tensor::Shape>& shapes,
                               std::int64_t steps);

}  // namespace scanloom
