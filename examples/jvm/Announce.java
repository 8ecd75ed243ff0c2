// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;

/**
 * Announces a task to the service (tracerd serve), with JDK 17 alone: java Announce.java FOLDER TASK. From then on,
 * processes that execute something in FOLDER belong to the task. docs/protocol.md has all requests.
 */
public final class Announce {
  private Announce() {}

  /** As a JSON string. */
  static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < 0x20) {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }

  static String ask(SocketChannel channel, BufferedReader replies, String request) throws IOException {
    ByteBuffer line = ByteBuffer.wrap((request + "\n").getBytes(StandardCharsets.UTF_8));
    while (line.hasRemaining()) channel.write(line);
    String reply = replies.readLine();
    if (reply == null) throw new IOException("the service has closed the connection");
    // A program that does more has a JSON parser; the first key of a reply is "ok".
    if (!reply.replace(" ", "").startsWith("{\"ok\":true")) throw new IOException(reply);
    return reply;
  }

  public static void main(String[] args) throws IOException {
    if (args.length != 2) {
      System.err.println("usage: java Announce.java FOLDER TASK");
      System.exit(2);
    }
    String folder = Path.of(args[0]).toAbsolutePath().normalize().toString();
    String given = System.getenv("TRACER_SOCKET");
    Path socket = Path.of(given != null && !given.isEmpty() ? given : "/run/tracer/tracer.sock");
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.connect(UnixDomainSocketAddress.of(socket));
      BufferedReader replies =
          new BufferedReader(new InputStreamReader(Channels.newInputStream(channel), StandardCharsets.UTF_8));
      System.out.println(ask(channel, replies, "{\"request\":\"hello\",\"version\":1}"));
      ask(channel, replies,
          "{\"request\":\"announce\",\"key\":{\"work_dir\":" + quoted(folder) + "},\"context\":{\"task\":"
              + quoted(args[1]) + ",\"task_id\":" + quoted(folder) + "}}");
      System.out.println("announced: " + args[1] + " in " + folder);
    }
  }
}
