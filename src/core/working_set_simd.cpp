#include "simd.h"

namespace shiftlearn {
namespace SHIFTLEARN_ISA_NAMESPACE {}
}  // namespace shiftlearn
