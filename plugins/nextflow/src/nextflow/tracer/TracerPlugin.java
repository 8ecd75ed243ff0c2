// SPDX-License-Identifier: Apache-2.0
package nextflow.tracer;

import nextflow.Session;
import nextflow.plugin.BasePlugin;
import org.pf4j.PluginClassLoader;
import org.pf4j.PluginWrapper;

/**
 * Has Nextflow find the extensions that its version knows. Those since 25.04 also call observers of the older kind, so
 * that each event would come twice; those before would write an error with each task of classes that they can't load.
 */
public final class TracerPlugin extends BasePlugin {
  public TracerPlugin(PluginWrapper wrapper) {
    super(wrapper);
    String extensions = isSince2504() ? "since-25.04" : "before-25.04";
    ((PluginClassLoader) wrapper.getPluginClassLoader()).addFile(wrapper.getPluginPath().resolve(extensions).toFile());
  }

  private static boolean isSince2504() {
    try {
      Class.forName("nextflow.trace.TraceObserverFactoryV2", false, Session.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }
}
