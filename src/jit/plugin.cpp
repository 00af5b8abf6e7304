// The plug-in's entry point, which libscanloom.so looks up.
#include <llvm/Config/llvm-config.h>

#include "jit/compiler.h"
#include "jit/emit_program.h"
#include "jit/listing.h"

extern "C" __attribute__((visibility("default"))) const scanloom::jit::Plugin scanloom_jit_plugin;
const scanloom::jit::Plugin scanloom_jit_plugin{
    scanloom::jit::kPluginVersion,   &scanloom::jit::compile_loop,     &scanloom::jit::compile_body,
    &scanloom::jit::check_supported, &scanloom::jit::prepare_compiler, &scanloom::jit::list_loop,
    &scanloom::jit::list_body,       "LLVM " LLVM_VERSION_STRING};
