#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> map_gather_samples() {
  const ObjectRef letters =
      ObjectRef::map(ObjectRef::of(strings({2}, {"a", "b"})), ObjectRef::of(f32({2}, {3, 4})));
  return {
      {.name = "strings",
       .inputs = {letters},
       .attrs = {{"keys", strings({3}, {"b", "?", "a"})}},
       .outputs = {f32({3}, {4, 0, 3})}},
      {.name = "integers_to_strings",
       .inputs = {ObjectRef::map(ObjectRef::of(i64({1}, {7})), ObjectRef::of(strings({1}, {"x"})))},
       .attrs = {{"keys", i64({2}, {7, 8})}},
       .outputs = {strings({2}, {"x", ""})}},
      {.name = "other_keys",
       .inputs = {letters},
       .attrs = {{"keys", i64({1}, {0})}},
       .error = "the keys are i64[1], but those of the map are string"},
  };
}

}  // namespace scanloom::ops
