// SPDX-License-Identifier: Apache-2.0
package nextflow.tracer;

import groovy.json.JsonOutput;
import groovy.json.JsonSlurper;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** A connection to the service: one JSON object there, and one back, each on a line. One thread uses it. */
final class Service implements Closeable {
  /** The service's own word that it does not do what was asked. */
  @SuppressWarnings("serial")
  static final class Refusal extends Exception {
    final String code;

    Refusal(Map<?, ?> reply) {
      super(reply.get("message") + " [" + reply.get("code") + "]");
      code = String.valueOf(reply.get("code"));
    }
  }

  /** A reply with the state has about 1 MiB, and others little. */
  private static final int MOST_BYTES = 4 << 20;

  private final SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
  private final Selector selector = Selector.open();
  private final ByteBuffer read = ByteBuffer.allocate(64 << 10).flip();

  /** All moments are of System.nanoTime(). */
  Service(String path, long until) throws IOException {
    try {
      channel.configureBlocking(false);
      channel.register(selector, 0);
      boolean connected = channel.connect(UnixDomainSocketAddress.of(path));
      while (!connected) {
        await(SelectionKey.OP_CONNECT, until);
        connected = channel.finishConnect();
      }
    } catch (IOException | RuntimeException e) {
      close();
      throw e instanceof IOException ? (IOException) e : new IOException(e.getMessage(), e);
    }
  }

  Map<?, ?> ask(String name, Map<String, ?> keys, long until) throws IOException, Refusal {
    Map<String, Object> request = new LinkedHashMap<>();
    request.put("request", name);
    request.putAll(keys);
    ByteBuffer line = ByteBuffer.wrap((JsonOutput.toJson(request) + "\n").getBytes(StandardCharsets.UTF_8));
    while (line.hasRemaining()) if (channel.write(line) == 0) await(SelectionKey.OP_WRITE, until);
    Object reply;
    try {
      reply = new JsonSlurper().parseText(line(until));
    } catch (RuntimeException | StackOverflowError e) {
      throw new IOException("it answers what is no JSON", e);
    }
    if (!(reply instanceof Map<?, ?> object) || !(object.get("ok") instanceof Boolean ok))
      throw new IOException("it answers what makes no sense");
    if (!ok) throw new Refusal(object);
    return object;
  }

  /** Throws if the service has gone while nothing was asked. */
  void check() throws IOException {
    if (read.hasRemaining()) return;
    int got = channel.read(read.clear());
    read.flip();
    if (got < 0) throw new IOException("it has closed the connection");
  }

  private String line(long until) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    while (line.size() < MOST_BYTES) {
      while (read.hasRemaining()) {
        byte next = read.get();
        if (next == '\n') return line.toString(StandardCharsets.UTF_8);
        line.write(next);
      }
      int got = channel.read(read.clear());
      read.flip();
      if (got < 0) throw new IOException("it has closed the connection");
      if (got == 0) await(SelectionKey.OP_READ, until);
    }
    throw new IOException("it answers without an end");
  }

  private void await(int what, long until) throws IOException {
    channel.keyFor(selector).interestOps(what);
    long left = (until - System.nanoTime()) / 1_000_000;
    if (left <= 0) throw new IOException("it does not answer in time");
    selector.select(left);
    selector.selectedKeys().clear();
  }

  @Override
  public void close() {
    try {
      selector.close();
      channel.close();
    } catch (IOException e) {
      // Nothing is lost.
    }
  }
}
