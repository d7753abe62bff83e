#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace shiftlearn {
void bind_tiles(nb::module_ &) {}
}  // namespace shiftlearn
