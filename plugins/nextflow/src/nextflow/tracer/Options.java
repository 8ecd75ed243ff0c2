// SPDX-License-Identifier: Apache-2.0
package nextflow.tracer;

import java.util.Map;
import nextflow.Session;

/** The scope `tracer` of the configuration. */
record Options(boolean enabled, String socket, String sample) {
  static Options of(Session session) {
    Map<?, ?> scope = session.getConfig().get("tracer") instanceof Map<?, ?> given ? given : Map.of();
    String environment = System.getenv("TRACER_SOCKET");
    String standard = environment == null || environment.isEmpty() ? "/run/tracer/tracer.sock" : environment;
    return new Options(
        !"false".equals(text(scope, "enabled", "true")), text(scope, "socket", standard), text(scope, "sample", "meta.id"));
  }

  private static String text(Map<?, ?> scope, String name, String standard) {
    Object value = scope.get(name);
    return value == null ? standard : value.toString();
  }
}
