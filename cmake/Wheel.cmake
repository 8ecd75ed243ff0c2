# SPDX-License-Identifier: Apache-2.0
# What pyproject.toml puts into a wheel besides the package: tracerd as a script, and the licenses of all that is linked into
# the two or lies beside them.
install(TARGETS tracerd RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)

# Debian's packages, by what is taken from them. Their licenses may only be named there, and lie in common-licenses.
set(packages libbpf-dev libelf-dev zlib1g-dev libzstd-dev libsqlite3-dev libfmt-dev libmsgpack-cxx-dev libtomlplusplus-dev nlohmann-json3-dev libcli11-dev
             libc6-dev)
file(GLOB standard_library /usr/share/doc/libstdc++-*-dev)
list(TRANSFORM packages PREPEND /usr/share/doc/)
foreach(folder IN LISTS packages standard_library)
  get_filename_component(name ${folder} NAME)
  if(EXISTS ${folder}/copyright)
    # A link to another package's file is followed.
    get_filename_component(copyright ${folder}/copyright REALPATH)
    install(FILES ${copyright} DESTINATION ${SKBUILD_METADATA_DIR}/licenses/${name} RENAME copyright COMPONENT python)
  else()
    message(WARNING "no ${folder}/copyright: the license of ${name} will not be in the wheel")
  endif()
endforeach()
foreach(name GPL-2 GPL-3 LGPL-2.1 LGPL-3)
  if(EXISTS /usr/share/common-licenses/${name})
    install(FILES /usr/share/common-licenses/${name} DESTINATION ${SKBUILD_METADATA_DIR}/licenses COMPONENT python)
  endif()
endforeach()
