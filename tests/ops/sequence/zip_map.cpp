#include "tests/ops/samples.h"

namespace scanloom::ops {
namespace {

ObjectRef zipped_map(const Tensor& keys, const Tensor& values) {
  return ObjectRef::map(ObjectRef::of(keys), ObjectRef::of(values));
}

}  // namespace

std::vector<Sample> zip_map_samples() {
  const Tensor keys = strings({2}, {"a", "b"});
  return {
      {.name = "rows",
       .inputs = {f32({2, 2}, {1, 2, 3, 4})},
       .attrs = {{"keys", keys}},
       .outputs = {sequence(
           {zipped_map(keys, f32({2}, {1, 2})), zipped_map(keys, f32({2}, {3, 4}))})}},
      {.name = "integers_to_strings",
       .inputs = {strings({1}, {"x"})},
       .attrs = {{"keys", i64({1}, {7})}},
       .outputs = {sequence({zipped_map(i64({1}, {7}), strings({1}, {"x"}))})}},
      {.name = "a_value_too_many",
       .inputs = {f32({1, 3}, {1, 2, 3})},
       .attrs = {{"keys", keys}},
       .error = "rows of x have 3 values for 2 keys"},
      {.name = "a_scalar",
       .inputs = {f32({}, {1})},
       .attrs = {{"keys", keys}},
       .error = "x has 0 axes, but must have 1 or 2"},
  };
}

}  // namespace scanloom::ops
