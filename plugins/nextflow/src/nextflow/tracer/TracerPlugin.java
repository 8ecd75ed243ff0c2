// SPDX-License-Identifier: Apache-2.0
package nextflow.tracer;

import nextflow.plugin.BasePlugin;
import org.pf4j.PluginWrapper;

/** Nextflow finds the observers by META-INF/extensions.idx. */
public final class TracerPlugin extends BasePlugin {
  public TracerPlugin(PluginWrapper wrapper) {
    super(wrapper);
  }
}
