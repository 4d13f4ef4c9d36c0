# Aeron's C sources look for libuuid and libbsd and have fallbacks for both. Answering the probes with
# "not there" makes the result depend on libc, libm and libgcc_s alone, whatever the build machine has.
foreach(probe BSDSTDLIB_H_EXISTS UUID_H_EXISTS ARC4RANDOM_PROTOTYPE_EXISTS REALLOCF_PROTOTYPE_EXISTS UUID_GENERATE_PROTOTYPE_EXISTS)
  set(${probe} "" CACHE INTERNAL "")
endforeach()
set(LIBBSD_EXISTS "LIBBSD_EXISTS-NOTFOUND" CACHE INTERNAL "")
set(LIBUUID_EXISTS "LIBUUID_EXISTS-NOTFOUND" CACHE INTERNAL "")
# The extension is a shared object: static Aeron code inside it must be position independent.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
