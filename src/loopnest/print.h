// The text form of the loop-nest IR, which parse reads back. For example
//
//   body avx2 {
//     swap s1, s2
//     nest (4, 8) {
//       %0 = read f32 s1[0 + (8, 1)]
//       %1 = reduce sum f32 over (16) {
//         %0 = read f32 s3[64 + (16, 0, 1)]
//         yield %0
//       }
//       %2 = add f32 %0, %1
//       write %2 to f32 s2[0 + (8, 1)]
//     }
//   }
//
// s1[0 + (8, 1)] is slot 1, 0 bytes on, with strides of 8 and 1 elements along the axes; l0 is the
// first of the code's own buffers; $0 is the first parameter.
#pragma once

#include <string>

#include "loopnest/loopnest.h"

namespace scanloom::loopnest {

/// Returns the whole of a body as text. Whatever the verifier accepts reads back equal.
std::string print(const BodySource& source);

/// Returns "nest", "call", ...: what messages and the text form call a statement.
const char* kind_name(Statement::Kind kind);
/// Returns "sum", "multiply_add", ...
const char* kind_name(Reduction::Kind kind);

}  // namespace scanloom::loopnest
