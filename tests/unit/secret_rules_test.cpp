// SPDX-License-Identifier: Apache-2.0
#include "rules/builtin_rules.hpp"
#include "rules/secrets/secret_rules.hpp"
#include "rules/secrets/secret_rules_reader.hpp"

#include <cerrno>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

using tracer::Error;
using tracer::ErrorCode;
using tracer::internal::SecretRules;
using Words = std::vector<std::string>;

namespace {

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += "[" + word + "]";
  return text;
}

std::string masked(Words argv) {
  SecretRules::builtin().mask(argv);
  return joined(argv);
}

/// Masks `argv` and tells whether "hunter2" is still anywhere in it.
bool leaks(Words argv) {
  CHECK(SecretRules::builtin().mask(argv) >= 1);
  CAPTURE(joined(argv));
  const bool leak = joined(argv).find("hunter2") != std::string::npos;
  CHECK_FALSE(leak);
  return leak;
}

void unchanged(const Words& argv) {
  Words copy = argv;
  CHECK(SecretRules::builtin().mask(copy) == 0);
  CHECK(joined(copy) == joined(argv));
}

std::string mistakes_of(std::string_view toml, std::size_t count) {
  try {
    SecretRules::parse(toml, "my.toml");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kInvalidRules);
    CHECK(error.problems().size() == count);
    return error.what();
  }
  FAIL("parsed: " << std::string(toml));
  return {};
}

}  // namespace

TEST_CASE("every built-in secret rule has an example and every example holds") {
  const auto examples =
      tracer::internal::read_secret_examples(tracer::internal::builtin_rules("secrets"), "rules/secrets.toml");
  CHECK(examples.size() >= 20);
  for (const auto& example : examples) {
    CAPTURE(example.rule);
    REQUIRE_FALSE(example.masked.empty());
    CHECK(masked(example.argv) == joined(example.masked));
  }
}

TEST_CASE("harmless words are left alone") {
  unchanged({});
  unchanged({""});
  unchanged({"cp", "/home/u/passwords/passwordless.txt", "/x/secret/token.txt"});
  unchanged({"x", "--keep", "3", "--keyfile=path", "--key", "tokenize", "tokenizer=bpe", "--tokenizer", "bert"});
  unchanged({"sort", "-k2,2", "-t:", "-S2G"});
  unchanged({"x", "--max-tokens=100", "--num-token", "3", "--password-file", "/p"});
  unchanged({"x", "--no-password", "x", "SECRET_NAME=y"});
  unchanged({"docker", "run", "-p", "8080:80", "-u", "1000:1000", "img"});
  unchanged({"mkdir", "-p", "/data/mysql", "-pv"});
  unchanged({"curl", "http://localhost:8080/x?page=2&sort=asc", "ssh://git@host:22/x", "http://[::1]:80/"});
  unchanged({"python", "-c", "print('it is ok: a=b'); d = {'name': 'x', 'a': 1}"});
  unchanged({"sk-learn", "eyJ", "AKIA", "hf_x", "risk-abcdefghijklmnopqrstuvwxyz", "a@b:c"});
  unchanged({"samtools", "view", "-o", "x.bam", "chr1:1000-2000"});
  unchanged({"awk", "{print $1 \":\" $2}", "PATH=/usr/bin:/bin", "PWD=/x"});
}

TEST_CASE("secrets inside of a script are masked") {
  CHECK(masked({"bash", "-c",
                "curl --password hunter2 https://u:p@h/ && export AWS_SECRET_ACCESS_KEY=abc; mysql -psecret"}) ==
        "[bash][-c][curl --password *** https://u:***@h/ && export AWS_SECRET_ACCESS_KEY=***; mysql -p***]");
  CHECK(masked({"bash", "-c", "x --token 'a b' --y && z --password=\"c d\" -v"}) ==
        "[bash][-c][x --token '***' --y && z --password=\"***\" -v]");
  CHECK(masked({"sh", "-c", "curl -H 'Authorization: Bearer abc' https://x"}) ==
        "[sh][-c][curl -H 'Authorization: Bearer ***' https://x]");
  CHECK(masked({"sh", "-c", "curl -H \"Authorization: Basic abc\" https://x; ls"}) ==
        "[sh][-c][curl -H \"Authorization: Basic ***\" https://x; ls]");
  leaks({"bash", "-lc", "PASSWORD=hunter2 run"});
  leaks({"bash", "-c", "bash -c 'mysql -phunter2'"});
  leaks({"bash", "-c", "bash -c \"mysql --password \\\"hunter2\\\"\""});
  leaks({"bash", "-c", "if x; then sudo mysql -phunter2; fi"});
  leaks({"bash", "-c", "echo it's --password 'hunter2' x"});
  leaks({"bash", "-c", "docker login -u me -p hunter2 reg"});
  leaks({"bash", "-c", "curl -u me:hunter2 x"});
  leaks({"bash", "-c", "mysql -p\"a hunter2\" x"});
  leaks({"bash", "-c", "bash -c \"mysql -p\\\"a hunter2\\\" x\""});
  leaks({"bash", "-c", "x --password ab\"c hunter2\"e f"});
  unchanged({"bash", "-c", "bash -c \"mysql -p\" x"});
  leaks({"bash", "-c", "a=$(curl --token hunter2)"});
  leaks({"bash", "-c", "printf x\nexport DB_PASSWORD='a hunter2'\nls"});
}

TEST_CASE("a value is masked to the end of its word") {
  CHECK(masked({"x", "--password=correct horse; \"battery\" & staple"}) == "[x][--password=***]");
  CHECK(masked({"x", "--password", "correct horse; battery"}) == "[x][--password][***]");
  CHECK(masked({"env", "DB_PASSWORD=a b c", "run"}) == "[env][DB_PASSWORD=***][run]");
}

TEST_CASE("an option that may be a flag never hides the secret behind it") {
  leaks({"x", "--password", "--token", "hunter2"});
  leaks({"x", "--password", "--token=hunter2"});
  leaks({"x", "--password", "-hunter2"});
}

TEST_CASE("what an echo of a word before has printed is not looked for in the next word") {
  unchanged({"x", "login", "sh", "-c", "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | md5sum -c -", "A=b",
             "-q"});
}

TEST_CASE("several secrets in one word are each masked") {
  Words argv{"x", "https://a:hunter2@h/?token=hunter2&b=1&sig=hunter2 AKIAABCDEFGHIJKLMNOP"};
  CHECK(SecretRules::builtin().mask(argv) == 4);
  CHECK(argv[1] == "https://a:***@h/?token=***&b=1&sig=*** ***");
}

TEST_CASE("masking a masked command line changes nothing") {
  Words argv{"curl",       "-u", "a:b", "--token=x", "https://a:b@c/?sig=d", "-H", "Authorization: Bearer e",
             "--password", "f"};
  CHECK(SecretRules::builtin().mask(argv) == 6);
  unchanged(argv);
}

TEST_CASE("the mask does not tell how long the secret is") {
  CHECK(masked({"x", "--password=a"}) == masked({"x", "--password=" + std::string(1000, 'a')}));
  CHECK(masked({"x", "ghp_" + std::string(36, 'a')}) == masked({"x", "ghp_" + std::string(99, 'b')}));
}

TEST_CASE("secrets in urls are masked even where the url is odd") {
  leaks({"x", "https://u:hunter2"});
  leaks({"x", "https://u:a/hunter2@h/x"});
  leaks({"x", "https://u:a@hunter2@h/x"});
  leaks({"x", "https://u:hun?hunter2@h"});
  leaks({"x", "postgresql://:hunter2@h/db"});
  leaks({"x", "--url=https://u:hunter2@h", "y"});
  leaks({"x", "https://h/#access_token=1&token=hunter2"});
  leaks({"x", "user=u&password=hunter2&z=1"});
  leaks({"x", "Server=h;Password=hunter2;Port=1"});
}

TEST_CASE("a secret whose end is cut off is masked") {
  Words argv{"x", std::string(3000, 'a'), "ghp_abc"};
  CHECK(SecretRules::builtin().mask(argv) == 1);
  CHECK(argv[2] == "***");
  leaks({"bash", "-c", "x --password 'hunter2 and"});
  leaks({"bash", "-c", "x --password \"hunter2"});
  leaks({"bash", "-c", "x --password=\"a hunter2"});
  leaks({"curl", "-H", "Authorization: Bearer hunter2"});
  leaks({"x", "eyJhbGciOiJIUzI1NiJ9hunter2"});
  leaks({"x", "{\"password\": \"hunter2"});
}

TEST_CASE("a secret behind a word whose beginning is cut off is masked") {
  leaks({"cret' --password 'hunter2' x"});
  leaks({"ret\" && mysql -phunter2"});
  leaks({"hunter2\n-----END RSA PRIVATE KEY-----\nrest"});
}

TEST_CASE("secrets in code, SQL and files are masked") {
  leaks({"python", "-c", "os.environ['API_KEY'] = 'hunter2'"});
  leaks({"python", "-c", "os.environ.setdefault('API_KEY', 'hunter2')"});
  leaks({"python", "-c", "requests.get(u, auth=('me', 'hunter2'))"});
  leaks({"perl", "-e", "$h = {password => 'hunter2'}; DBI->connect(1)"});
  leaks({"perl", "-e", "DBI->connect('dbi:mysql:d', 'me', 'hunter2')"});
  leaks({"mysql", "-e", "CREATE USER me IDENTIFIED BY 'hunter2'"});
  leaks({"psql", "-c", "ALTER ROLE me WITH ENCRYPTED PASSWORD 'hunter2'"});
  leaks({"sh", "-c", "cat > c <<E\nuser: me\npassword: hunter2\nE"});
  leaks({"expect", "-c", "expect \"assword:\"; send \"hunter2\\r\""});
  leaks({"x", "Authorization:", "Bearer", "hunter2"});
  leaks({"x", "password", "=", "hunter2x", "--password", "=hunter2"});
  leaks({"x", R"({"name": "A_TOKEN", "value": "hunter2"})"});
  unchanged({"python", "-c", "import getpass; password = getpass.getpass(); c(user=u, password=pw)"});
  unchanged({"Rscript", "-e", "f(token = Sys.getenv('GITHUB_PAT'), auth_token=Sys.getenv('X'))"});
}

TEST_CASE("what belongs to a word that was cut is masked") {
  leaks({"bash", "-c", "samtools view x.b…I_KEY=hunter2 y"});
  leaks({"x", "--file=/a/b…ssword", "hunter2"});
  CHECK(masked({"x", "a…9fK2vQ7LmZ4xTb8RwY3c rest"}) == "[x][a*** rest]");
  unchanged({"x", "/scratch/5f/b7c91431a7…7f8d6a6/TCGA-N9-C4H4-01A.sorted.bam", "next"});
}

TEST_CASE("what a word says about another tells which is a secret") {
  leaks({"x", "-u", "me", "-p", "hunter2"});
  leaks({"x", "--user=me", "-phunter2"});
  leaks({"x", "login", "-p", "hunter2"});
  leaks({"x", "-u", "me:hunter2"});
  leaks({"x", "--name", "db_password", "--value", "hunter2"});
  leaks({"x", "secret", "set", "--name", "a", "--body", "hunter2"});
  leaks({"curl", "-F", "key=DB_PASSWORD", "-F", "value=hunter2"});
  leaks({"x", "_gpg_passphrase hunter2"});
  leaks({"sh", "-c", "echo hunter2 > /run/db_password"});
  leaks({"sh", "-c", "echo hunter2 | sudo tee /run/db_password"});
  leaks({"sh", "-c", "echo hunter2 | x mount -o password_stdin"});
  leaks({"sh", "-c", "wg set w peer p preshared-key <(echo hunter2)"});
  leaks({"x", "--password-command", "echo -n hunter2", "y"});
  leaks({"x", "--passwordeval=echo 'hunter2'"});
  leaks({"bash", "-c", "export BORG_PASSCOMMAND=\"echo hunter2\"; borg list"});
  unchanged({"env", "BORG_PASSCOMMAND=cat /etc/borg1", "RESTIC_PASSWORD_COMMAND=pass show restic1", "x"});
  unchanged({"sudo", "-u", "me", "mkdir", "-p", "a1"});
  unchanged({"squeue", "-u", "me", "-pgpu-A100"});
  unchanged({"python", "-u", "a.py", "-p", "b2"});
  unchanged({"x", "--name", "a", "--value", "b1"});
  unchanged({"sh", "-c", "echo B1 > a.txt"});
}

TEST_CASE("arguments of calls, tags and substitutions are looked at") {
  leaks({"php", "-r", "new mysqli('h', 'me', 'hunter2', 'db');"});
  leaks({"python", "-c", "c.connect('me', 'hunter2', 'h:1521/db')"});
  leaks({"R", "-e", "set_password('service', 'me', 'hunter2')"});
  leaks({"R", "-e", "f(paste('Bearer', 'hunter2'))"});
  leaks({"python", "-c", "p.expect('assword:'); p.sendline('hunter2')"});
  leaks({"curl", "-d", "<user>me</user><password>hunter2</password>"});
  leaks({"x", "<p name=\"password\" value=\"hunter2\"/>"});
  leaks({"sed", "-i", "s/@PASSWORD@/hunter2/"});
  leaks({"x", "me:hunter2@h/db"});
  leaks({"x", "nats://4fR7tzQ0pLm2Vx8hunter2@h:4222"});
  unchanged({"sed", "s/password=.*/password=/; s/(token=)x/\\1REDACTED/"});
  unchanged({"promtool", "up{token=\"x\"}"});
  unchanged({"perl", "-ne", "print if /token=(\\w+)/; B::call(@x)"});
  unchanged({"x", "mailto:Me@h.org", "git@h:a/b", "a:1.2@sha256:0a1b"});
}

TEST_CASE("a private key is masked to the end of its word") {
  CHECK(masked({"x", "k=-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\n"}) == "[x][k=***]");
  CHECK(masked({"x", "-----BEGIN PRIVATE KEY-----\nMII"}) == "[x][***]");
  unchanged({"x", "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----"});
}

TEST_CASE("garbage is neither slow nor an error" * doctest::test_suite("one_thread")) {
  // Quadratic time would not come to an end here.
  for (const char* piece : {"\xff",
                            "\"",
                            "'",
                            "\\",
                            "--password=",
                            "--password='\"",
                            "://a:b/",
                            "?token=",
                            "eyJ-",
                            "sk-",
                            "Authorization:",
                            "a:",
                            "=",
                            "PRIVATE KEY-----",
                            "-----BEGIN ",
                            "aB",
                            "a_",
                            "&",
                            "mysql -p",
                            "--token ",
                            "%",
                            "@",
                            " ",
                            "\n",
                            "token='a ",
                            "token=a, b=",
                            "login('",
                            "set_token(\"",
                            "identified by ",
                            "password '",
                            "password : a\n",
                            "x\nkey: ",
                            "echo x|sudo -S ;",
                            "echo x >pw ",
                            ":password>",
                            "?u=",
                            "user ",
                            "connect ",
                            "me:x@",
                            "s/password/x",
                            "f('a', ",
                            "key <(echo ",
                            "(token=a,",
                            "mysql zip curl docker aws ",
                            "://hooks.slack.com/services/",
                            "…"}) {
    std::string word;
    while (word.size() < 100'000) word += piece;
    for (const bool shell : {false, true}) {
      Words argv{shell ? "bash" : "x", "-c", word, word};
      SecretRules::builtin().mask(argv);
    }
  }
  Words many(2048, "-");
  SecretRules::builtin().mask(many);
  std::string seeded;
  unsigned state = 1;
  for (int i = 0; i < 4096; ++i) seeded += static_cast<char>((state = state * 1103515245U + 12345U) >> 16U);
  for (std::size_t cut = 0; cut < seeded.size(); cut += 7) {
    Words argv{"mysql", seeded.substr(cut), "-c", seeded.substr(0, cut)};
    SecretRules::builtin().mask(argv);
  }
}

TEST_CASE("all mistakes of a secret rules file are told at once with their lines") {
  const std::string text = mistakes_of(R"(schema = 9
[[name]]
parts = ["Upper"]
[[option]]
names = ["-p"]
[[shape]]
prefixes = ["a"]
chars = "x"
[[url]]
plain = 1
test = [{ argv = ["a"], masked = [] }]
[[foo]])",
                                       7);
  CHECK(text.find("my.toml:3: \"Upper\" must be lower case") != std::string::npos);
  CHECK(text.find("my.toml:8: \"chars\"") != std::string::npos);
  CHECK(mistakes_of("schema =", 1).find("my.toml:1: ") != std::string::npos);
}

TEST_CASE("a secret rules file that can't be read is told with errno") {
  try {
    SecretRules::load("/nonexistent/x.toml");
    FAIL("loaded");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kFileUnreadable);
    CHECK(error.error_number() == ENOENT);
  }
}
