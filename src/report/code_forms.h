// Programs to copy that feed a model's inputs and print its outputs. They run as they are: inputs
// are fed what the run was fed where that is short, otherwise zeros.
#pragma once

#include <string>

#include <scanloom/session.h>

#include "report/interface.h"
#include "report/json.h"

namespace scanloom::report {

/// Returns the programs as {"python", "cpp", "command"}; functions and streams have no "command".
Json code_forms(const Interface& interface);

/// Each returns one of the programs of code_forms().
std::string python_form(const Interface& interface);
std::string cpp_form(const Interface& interface);
std::string command_form(const Interface& interface);

/// Returns the declared sizes in one line without control characters or backslashes, so that it can
/// be a comment: "T x 1 x 40".
std::string declared_sizes(const ValueInfo& info);

/// Returns the elements of an input as a list of lists, "[[1, 2], [3, 4]]", or a number; empty if
/// zeros are fed.
std::string nested_elements(const Interface& interface, std::size_t input);
/// The file that the programs load: that of the model, or a name to replace.
std::string model_path(const Interface& interface);

/// The pushes of a program that uses a stream: enough to see that states are kept.
inline constexpr int kPushes = 3;
/// The file that the programs of a function load.
inline constexpr const char* kFunctionFile = "function.scanloom";

}  // namespace scanloom::report
