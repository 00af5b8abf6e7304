// Formats a tensor as the bytes of a .npy file; shared by npy.cpp and npz.cpp.
#pragma once

#include <string>
#include <string_view>

#include <scanloom/value.h>

namespace scanloom::cli {

std::string format_npy(const View& tensor);
void write_file(const std::string& path, std::string_view bytes);

}  // namespace scanloom::cli
