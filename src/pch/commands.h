// Precompiled for the files of the subcommands.
#include <CLI/CLI.hpp>

#include "library.h"
