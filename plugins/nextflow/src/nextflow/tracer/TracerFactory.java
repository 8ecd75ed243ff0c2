// SPDX-License-Identifier: Apache-2.0
package nextflow.tracer;

import java.util.Collection;
import java.util.List;
import nextflow.Session;
import nextflow.trace.TraceObserver;
import nextflow.trace.TraceObserverFactory;

/** For Nextflow before 25.04. */
@SuppressWarnings("deprecation")
public final class TracerFactory implements TraceObserverFactory {
  @Override
  public Collection<TraceObserver> create(Session session) {
    Options options = Options.of(session);
    return options.enabled() ? List.of(Observers.observer(TraceObserver.class, new Reporter(options))) : List.of();
  }
}
