// Formats a tensor as the bytes of a .npy file; shared by npy.cpp and npz.cpp.
#pragma once

#include <string>

#include <scanloom/value.h>

namespace scanloom::cli {

std::string format_npy(const View& tensor);

}  // namespace scanloom::cli
