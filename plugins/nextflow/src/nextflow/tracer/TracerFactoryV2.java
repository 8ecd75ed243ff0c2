// SPDX-License-Identifier: Apache-2.0
package nextflow.tracer;

import java.util.Collection;
import java.util.List;
import nextflow.Session;
import nextflow.trace.TraceObserverFactoryV2;
import nextflow.trace.TraceObserverV2;

/** For Nextflow since 25.04. */
public final class TracerFactoryV2 implements TraceObserverFactoryV2 {
  @Override
  public Collection<TraceObserverV2> create(Session session) {
    Options options = Options.of(session);
    return options.enabled() ? List.of(Observers.observer(TraceObserverV2.class, new Reporter(options))) : List.of();
  }
}
