#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> map_values_samples() {
  return {
      {.name = "numbers",
       .inputs = {ObjectRef::map(ObjectRef::of(i64({2}, {1, 5})), ObjectRef::of(f32({2}, {3, 4})))},
       .outputs = {f32({2}, {3, 4})}},
      {.name = "empty",
       .inputs = {ObjectRef::map(ObjectRef::of(strings({0}, {})), ObjectRef::of(i64({0}, {})))},
       .outputs = {i64({0}, {})}},
  };
}

}  // namespace scanloom::ops
