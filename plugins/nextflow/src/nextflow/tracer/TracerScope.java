// SPDX-License-Identifier: Apache-2.0
package nextflow.tracer;

import nextflow.config.schema.ConfigOption;
import nextflow.config.schema.ConfigScope;
import nextflow.config.schema.ScopeName;
import nextflow.script.dsl.Description;

/** Describes the options to Nextflow 25.04, whose strict parser reports others. */
@ScopeName("tracer")
@Description("The `tracer` scope configures the plugin nf-tracer.")
public final class TracerScope implements ConfigScope {
  @ConfigOption
  @Description("Whether runs are reported to the service (default: `true`).")
  public boolean enabled;

  @ConfigOption
  @Description("The service's socket (default: `$TRACER_SOCKET`, or `/run/tracer/tracer.sock`).")
  public String socket;

  @ConfigOption
  @Description("Which input names a task's sample, or `tag` (default: `meta.id`).")
  public String sample;
}
