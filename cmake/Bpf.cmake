# SPDX-License-Identifier: Apache-2.0
# Compiles bpf/NAME.bpf.c with clang and makes NAME.skel.h with bpftool, in the build folder.
find_program(TRACER_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14 REQUIRED)
find_program(TRACER_BPFTOOL bpftool HINTS /usr/sbin /sbin /usr/local/sbin REQUIRED)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(TRACER_BPF_ARCH x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(TRACER_BPF_ARCH arm64)
else()
  message(FATAL_ERROR "no BPF target known for ${CMAKE_SYSTEM_PROCESSOR}")
endif()

function(tracer_add_bpf NAME)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/bpf/${NAME}.bpf.c)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/bpf)
  set(object ${folder}/${NAME}.bpf.o)
  set(skeleton ${folder}/${NAME}.skel.h)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/bpf/*.h
       ${CMAKE_CURRENT_SOURCE_DIR}/bpf/common/*.h)
  file(MAKE_DIRECTORY ${folder})
  get_target_property(includes PkgConfig::LIBBPF INTERFACE_INCLUDE_DIRECTORIES)
  set(include_flags)
  foreach(include IN LISTS includes)
    if(include)
      list(APPEND include_flags -isystem ${include})
    endif()
  endforeach()
  add_custom_command(
    OUTPUT ${skeleton}
    COMMAND ${TRACER_COMPILER_LAUNCHER} ${TRACER_CLANG} -target bpf -D__TARGET_ARCH_${TRACER_BPF_ARCH} -O2 -g -mcpu=v3
            -Wall -Werror -Wno-unknown-attributes ${TRACER_PREFIX_MAP} ${include_flags} -c ${source} -o ${object}
    COMMAND ${TRACER_BPFTOOL} gen skeleton ${object} name ${NAME}_bpf > ${skeleton}
    DEPENDS ${source} ${headers}
    COMMENT "BPF ${NAME}"
    VERBATIM)
  add_custom_target(tracer_bpf_${NAME} DEPENDS ${skeleton})
endfunction()
