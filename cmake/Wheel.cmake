# SPDX-License-Identifier: Apache-2.0
# What pyproject.toml puts into a wheel besides the package: tracerd as a script, and the licenses of all that is linked into
# the two or lies beside them.
install(TARGETS tracerd RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
include(Licenses)
tracer_install_licenses(${SKBUILD_METADATA_DIR}/licenses python)
