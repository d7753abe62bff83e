#include "cpu.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(SHIFTLEARN_X86)
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace shiftlearn {
namespace {

#if defined(SHIFTLEARN_X86)
struct Registers {
    std::uint32_t eax, ebx, ecx, edx;
};

Registers cpuid(std::uint32_t leaf) {
    Registers r{0, 0, 0, 0};
#if defined(_MSC_VER)
    int out[4];
    __cpuidex(out, static_cast<int>(leaf), 0);
    r = {std::uint32_t(out[0]), std::uint32_t(out[1]), std::uint32_t(out[2]), std::uint32_t(out[3])};
#else
    __cpuid_count(leaf, 0, r.eax, r.ebx, r.ecx, r.edx);
#endif
    return r;
}

std::uint64_t enabled_state() {
#if defined(_MSC_VER)
    return _xgetbv(0);
#else
    std::uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (std::uint64_t(high) << 32) | low;
#endif
}

Isa detect() {
    if (cpuid(0).eax < 7) return Isa::portable;
    const Registers one = cpuid(1);
    const bool osxsave = one.ecx & (1u << 27), avx = one.ecx & (1u << 28), fma = one.ecx & (1u << 12);
    if (!(osxsave && avx && fma)) return Isa::portable;
    const std::uint64_t state = enabled_state();
    const Registers seven = cpuid(7);
    const bool avx2 = (seven.ebx & (1u << 5)) && (state & 0x6) == 0x6;
    if (!avx2) return Isa::portable;
    const std::uint32_t wanted = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);  // F DQ BW VL
    const bool avx512 = (seven.ebx & wanted) == wanted && (state & 0xe6) == 0xe6;
    return avx512 ? Isa::avx512 : Isa::avx2;
}
#else
Isa detect() { return Isa::portable; }
#endif

Isa limited(Isa found) {
    const char *limit = std::getenv("SHIFTLEARN_ISA");
    if (!limit) return found;
    Isa most = found;
    if (!std::strcmp(limit, "portable")) most = Isa::portable;
    if (!std::strcmp(limit, "avx2")) most = Isa::avx2;
    return most < found ? most : found;
}

}  // namespace

Isa isa() {
    static const Isa chosen = limited(detect());
    return chosen;
}

const char *isa_name() {
    switch (isa()) {
        case Isa::avx512: return "avx512";
        case Isa::avx2: return "avx2";
        default: return "portable";
    }
}

}  // namespace shiftlearn
