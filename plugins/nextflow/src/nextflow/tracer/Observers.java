// SPDX-License-Identifier: Apache-2.0
package nextflow.tracer;

import java.lang.reflect.Proxy;
import nextflow.Session;
import nextflow.processor.TaskHandler;
import org.codehaus.groovy.runtime.InvokerHelper;

/**
 * Observers of both kinds, by the names of their methods: interfaces of Nextflow gain and lose methods from version to
 * version, and those before 25.04 have no defaults in Java.
 */
final class Observers {
  private Observers() {}

  static <T> T observer(Class<T> type, Reporter reporter) {
    return type.cast(Proxy.newProxyInstance(Observers.class.getClassLoader(), new Class<?>[] {type}, (self, method, words) -> {
      Object word = words == null || words.length == 0 ? null : words[0];
      switch (method.getName()) {
        case "onFlowCreate" -> reporter.begin((Session) word);
        case "onFlowComplete" -> reporter.end();
        // An element of an array of jobs is submitted without being pending.
        case "onProcessPending", "onTaskPending", "onProcessSubmit", "onTaskSubmit" -> reporter.submitted(word);
        case "onProcessStart", "onTaskStart" -> reporter.started(word);
        case "onProcessComplete", "onTaskComplete" -> reporter.completed(word);
        case "onProcessCached", "onTaskCached" -> reporter.cached(word);
        // True would add Nextflow's own poller to each task.
        case "enableMetrics" -> {
          return false;
        }
        case "equals" -> {
          return self == word;
        }
        case "hashCode" -> {
          return System.identityHashCode(self);
        }
        case "toString" -> {
          return "nf-tracer";
        }
        default -> {}
      }
      return null;
    }));
  }

  /** Of what an observer is given first: a handler, or since 25.04 an event with one. */
  static TaskHandler handler(Object word) {
    return (TaskHandler) (word == null || word instanceof TaskHandler ? word : InvokerHelper.getProperty(word, "handler"));
  }
}
