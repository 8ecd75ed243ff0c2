# SPDX-License-Identifier: Apache-2.0
# tracer_install_licenses(<folder> <component> [EXCLUDE_FROM_ALL])
# Installs the licenses of all that is linked into a static tracerd or a wheel.
function(tracer_install_licenses folder component)
  # Debian's packages, by what is taken from them. Their licenses may only be named there, and lie in common-licenses.
  set(packages libbpf-dev libelf-dev zlib1g-dev libzstd-dev libsqlite3-dev libfmt-dev libmsgpack-cxx-dev libtomlplusplus-dev
               nlohmann-json3-dev libcli11-dev libc6-dev)
  file(GLOB standard_library /usr/share/doc/libstdc++-*-dev)
  list(TRANSFORM packages PREPEND /usr/share/doc/)
  foreach(package IN LISTS packages standard_library)
    get_filename_component(name ${package} NAME)
    if(EXISTS ${package}/copyright)
      # A link to another package's file is followed.
      get_filename_component(copyright ${package}/copyright REALPATH)
      install(FILES ${copyright} DESTINATION ${folder}/${name} RENAME copyright COMPONENT ${component} ${ARGN})
    else()
      message(WARNING "no ${package}/copyright: the license of ${name} will not be installed")
    endif()
  endforeach()
  foreach(name GPL-2 GPL-3 LGPL-2.1 LGPL-3)
    if(EXISTS /usr/share/common-licenses/${name})
      install(FILES /usr/share/common-licenses/${name} DESTINATION ${folder} COMPONENT ${component} ${ARGN})
    endif()
  endforeach()
endfunction()
