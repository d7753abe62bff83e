// Which instruction set this process may use. Decided once, by CPUID and XGETBV of our own.
#pragma once

namespace shiftlearn {

enum class Isa { portable = 0, avx2 = 1, avx512 = 2 };

// The best set that processor, operating system and SHIFTLEARN_ISA (an upper limit) allow.
Isa isa();
const char *isa_name();

}  // namespace shiftlearn
