// The compiled core: one nanobind module, each part registered by its own file.
#include <nanobind/nanobind.h>

#include "cpu.h"

namespace nb = nanobind;

namespace shiftlearn {
void bind_tiles(nb::module_ &);
void bind_working_set(nb::module_ &);
void bind_linear(nb::module_ &);
void bind_batch(nb::module_ &);
void bind_platt(nb::module_ &);
void bind_prototypes(nb::module_ &);
}  // namespace shiftlearn

NB_MODULE(_core, m) {
    m.doc() = "Compiled inner loops of shiftlearn.";
    // At the end of the interpreter a global of the user may still hold rows; that is no fault.
    nb::set_leak_warnings(false);
    m.def("isa", &shiftlearn::isa_name, "Name of the instruction set in use.");
    shiftlearn::bind_tiles(m);
    shiftlearn::bind_working_set(m);
    shiftlearn::bind_linear(m);
    shiftlearn::bind_batch(m);
    shiftlearn::bind_platt(m);
    shiftlearn::bind_prototypes(m);
}
