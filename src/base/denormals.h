// Whether arithmetic has met denormal operands. Many x86 processors take 150 cycles for each
// instruction that has one.
#pragma once

namespace scanloom {

/// Forgets what met_denormals() would return. Concerns the calling thread, as that does.
void forget_denormals();

/// Returns whether vector arithmetic has had a denormal operand since forget_denormals(). Always
/// false on AArch64, where they take no longer than others.
bool met_denormals();

}  // namespace scanloom
