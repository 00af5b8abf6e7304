// This build, and what it finds on this machine: for bug reports.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <scanloom/api.h>
#include <scanloom/expected.h>

namespace scanloom {

/// The library, its plug-ins, the machine, and the settings that change how models run.
struct Environment {
  /// A library that is loaded when a model needs it.
  struct Plugin {
    std::string holds;    ///< "LLVM 19.1.7", or formats of images; empty if it is missing
    std::string path;     ///< of its file; empty if it is missing
    std::string why_not;  ///< why it is missing
  };

  std::string version;   ///< "0.1.0"
  std::string library;   ///< the file that holds the library
  std::string build;     ///< "release" or "debug", and whether it checks itself
  std::string compiler;  ///< what the library was compiled with, "g++ 12.2.0"
  Plugin loop_compiler;  ///< what compiles loops to machine code
  Plugin images;         ///< what decodes images

  std::string isa;                ///< the instruction set in use, "avx2"
  std::vector<std::string> isas;  ///< those of the machine, ascending
  int threads = 1;                ///< number that a run may use
  int cores = 1;                  ///< number that the process may use
  std::string cpu;                ///< the processor's name, as the system gives it
  std::string architecture;       ///< "x86_64"
  std::string system;             ///< "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;             ///< "Linux 6.1.0-18-amd64"
  std::string c_library;          ///< "glibc 2.36"

  std::string calibration;     ///< the file of calibrate(); empty if there is no folder for it
  bool is_calibrated = false;  ///< whether that file has figures of this machine
  std::vector<std::pair<std::string, std::string>> settings;  ///< SCANLOOM_* variables, by name
  std::vector<std::string> warnings;  ///< which of them are ignored, and why
};

/// Describes this build and this machine. Loads the plug-ins, so the first call may take a tenth of
/// a second; measures nothing. Thread safe. Errors: out_of_memory.
SCANLOOM_API Expected<Environment> environment();

/// Returns aligned lines for people, each with its line feed, such as "loop compiler  LLVM 19.1.7,
/// /usr/lib/libscanloom_jit.so". Control characters in them become '?'. Thread safe. Errors:
/// out_of_memory.
SCANLOOM_API Expected<std::string> to_text(const Environment& environment);

}  // namespace scanloom
