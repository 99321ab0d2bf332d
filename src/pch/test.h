// Precompiled for every stage's unit tests.
#include <doctest/doctest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "library.h"
