// A vector of W numbers with + - * and comparison, wide enough for the instruction set in force.
//
// Included by sources that are compiled once per instruction set (CMake defines SHIFTLEARN_ISA).
// Everything here lives in a namespace named after that set, so that the linker can never mix
// code of two sets. GCC and Clang provide the vector types; elsewhere arrays take their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#define SHIFTLEARN_JOIN_(a, b) a##b
#define SHIFTLEARN_JOIN(a, b) SHIFTLEARN_JOIN_(a, b)
#define SHIFTLEARN_ISA_NAMESPACE SHIFTLEARN_JOIN(isa_, SHIFTLEARN_ISA)

#if defined(__AVX512F__)
#define SHIFTLEARN_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define SHIFTLEARN_VECTOR_BYTES 32
#else
#define SHIFTLEARN_VECTOR_BYTES 16
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define SHIFTLEARN_INLINE static __forceinline
#else
#define SHIFTLEARN_INLINE static inline __attribute__((always_inline))
#endif
