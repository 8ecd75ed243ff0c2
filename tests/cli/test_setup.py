# SPDX-License-Identifier: Apache-2.0
"""`tracerd setup`, on a host of its own: /etc, /usr/local and /run/systemd are copies or empty, in a mount namespace."""

import os
import shutil
import subprocess
import unittest

import support
from support import TRACERD

USER = "tracer-setup-test"
UID = 28411
HOST = r"""
set -e
mount --make-rprivate /
cp -a /etc "$FOLDER/etc"
echo "$USER_NAME:x:$USER_ID:$USER_ID::$FOLDER/home:/bin/sh" >> "$FOLDER/etc/passwd"
echo "$USER_NAME:x:$USER_ID:" >> "$FOLDER/etc/group"
echo "$USER_NAME:*:19000:0:99999:7:::" >> "$FOLDER/etc/shadow"
[ ! -d "$FOLDER/etc/sudoers.d" ] || echo "$USER_NAME ALL=(ALL) NOPASSWD: ALL" > "$FOLDER/etc/sudoers.d/$USER_NAME"
mount --bind "$FOLDER/etc" /etc
mount -t tmpfs tmpfs /usr/local
mkdir -p /usr/local/bin
mkdir -p /run/systemd
mount -t tmpfs tmpfs /run/systemd
[ -z "$SYSTEMD" ] || { mkdir /run/systemd/system; install -m 755 "$FOLDER/systemctl" /usr/local/bin/systemctl; }
"""
AS_USER = f"setpriv --reuid={UID} --regid={UID} --init-groups --inh-caps=-all env -u XDG_STATE_HOME HOME=$FOLDER/home PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
NEEDED = ("sudo", "setcap", "groupadd", "usermod", "setpriv", "unshare")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Setup(support.TestCase):
    def setUp(self):
        super().setUp()
        for program in NEEDED:
            if not shutil.which(program):
                self.skipTest(f"there is no {program}")
        os.chmod(self.folder, 0o755)
        home = self.path("home")
        os.mkdir(home)
        shutil.copy(TRACERD, self.path("home/tracerd"))
        os.chown(home, UID, UID)
        with open(self.path("systemctl"), "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\necho "$@" >> {self.folder}/systemctl.log\n')

    def on_host(self, script, systemd=False):
        """What a script prints on such a host, as root; $USER_RUNS is how its user runs something."""
        environment = os.environ | {"FOLDER": self.folder, "USER_NAME": USER, "USER_ID": str(UID), "SYSTEMD": "1" if systemd else ""}
        environment.pop("SUDO_UID", None)
        environment.pop("SUDO_USER", None)
        as_user = AS_USER.replace("$FOLDER", self.folder)
        return subprocess.run(["unshare", "--mount", "sh", "-c", HOST + f'cd "$FOLDER/home"\nset +e\nuser() {{ {as_user} "$@"; }}\n' + script],
                              env=environment, capture_output=True, text=True, check=False, timeout=120)

    def test_a_group_traces_without_sudo_from_then_on(self):
        done = self.on_host("""
            user ./tracerd run -- sh -c 'exit 3'; echo "before $?"
            user ./tracerd setup; echo "set up $?"
            stat -c '%A %U %G' /usr/local/bin/tracerd; id -nG "$USER_NAME"
            user ./tracerd run -- sh -c 'exit 3'; echo "by the copy $?"
            user tracerd run -- sh -c 'exit 4'; echo "the copy itself $?"
            user ./tracerd check > check; echo "check $?"
            setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all ./tracerd run -- true; echo "another $?"
        """)
        said, errors = done.stdout, done.stderr
        for line in ("before 3", "set up 0", "-rwxr-x--- root tracers", "by the copy 3", "the copy itself 4", "check 0", "another 0",
                     "+ setcap cap_bpf,cap_perfmon+ep /usr/local/bin/tracerd"):
            self.assertIn(f"{line}\n", said, errors)
        self.assertIn(f"{USER} tracers\n", said)
        # Exact after it, polled before, and of who is no member.
        self.assertEqual(errors.count("polls /proc"), 2, errors)
        self.assertEqual(errors.count("\ncomplete: "), 2, errors)
        check = support.text_of(self.path("home/check"))
        self.assertIn("ok      copy with rights at /usr/local/bin/tracerd", check)

    def test_the_service_where_systemd_runs(self):
        done = self.on_host("user ./tracerd setup; echo \"status $?\"; cp /etc/systemd/system/tracerd.service ../unit", systemd=True)
        # No systemd starts it here.
        self.assertIn("tracing does not work for", done.stderr)
        self.assertEqual(support.text_of(self.path("systemctl.log")),
                         "daemon-reload\nenable --now tracerd.service\nrestart tracerd.service\n")
        unit = support.text_of(self.path("unit"))
        self.assertIn("\nExecStart=/usr/local/bin/tracerd serve\n", unit)
        self.assertNotIn("/usr/bin/tracerd", unit)

    def test_it_can_be_undone(self):
        done = self.on_host("""
            user ./tracerd setup --capabilities > /dev/null; user ./tracerd setup > /dev/null
            user ./tracerd setup --undo; echo "status $?"
            ls /usr/local/bin/tracerd /etc/systemd/system/tracerd.service; getent group tracers || echo "no group"
        """, systemd=True)
        self.assertIn("status 0\n", done.stdout)
        self.assertIn("no group\n", done.stdout)
        self.assertEqual(done.stderr.count("No such file"), 2, done.stderr)

    def test_what_it_did_not_make_stays(self):
        done = self.on_host("""
            groupadd tracers; printf '#!/bin/sh\\n' > /usr/local/bin/tracerd; chmod 755 /usr/local/bin/tracerd
            ./tracerd setup; ./tracerd setup --undo
            cp tracerd /usr/local/bin/tracerd; /usr/local/bin/tracerd setup > /dev/null; /usr/local/bin/tracerd setup --undo > /dev/null
            getcap /usr/local/bin/tracerd; stat -c '%a' /usr/local/bin/tracerd; getent group tracers
        """)
        self.assertIn("there is a /usr/local/bin/tracerd that this did not make", done.stderr)
        self.assertIn("nothing is there that 'tracerd setup' has made", done.stderr)
        self.assertRegex(done.stdout, r"\A755\ntracers:")

    def test_a_dry_run_changes_nothing(self):
        done = self.on_host("""
            user ./tracerd setup --dry-run; user ./tracerd setup --dry-run --undo
            ls /usr/local/bin; getent group tracers || echo "no group"
        """)
        self.assertIn("+ setcap cap_bpf,cap_perfmon+ep /usr/local/bin/tracerd\n", done.stdout)
        self.assertIn(f"+ usermod --append --groups tracers {USER}\n", done.stdout)
        self.assertTrue(done.stdout.endswith("\nno group\n"), done.stdout)

    def test_without_sudo_it_says_what_to_ask_for(self):
        done = self.on_host("""
            mkdir ../bin; ln -s /usr/bin/env ../bin/env
            setpriv --reuid="$USER_ID" --regid="$USER_ID" --clear-groups env PATH=$FOLDER/bin ./tracerd setup; echo "status $?"
        """)
        self.assertIn("status 1\n", done.stdout)
        self.assertIn("sudo is missing", done.stderr)
        self.assertIn(f"whoever administers this host: {self.folder}/home/tracerd setup", done.stderr)

    def test_a_copy_of_another_version_is_noticed(self):
        done = self.on_host("""
            printf '#!/bin/sh\\necho tracerd 0.0.7\\n' > /usr/local/bin/tracerd
            chmod 755 /usr/local/bin/tracerd; setcap cap_bpf,cap_perfmon+ep /usr/local/bin/tracerd
            ./tracerd check
        """)
        self.assertRegex(done.stdout, r"absent  copy with rights at /usr/local/bin/tracerd: .*\n +it is 0\.0\.7, this is \d.*\n +fix: tracerd setup\n")

    def test_a_copy_of_another_version_is_not_run(self):
        done = self.on_host("""
            printf '#!/bin/sh\\n[ "$1" != --version ] && echo planted || echo tracerd 0.0.7\\n' > /usr/local/bin/tracerd
            chmod 755 /usr/local/bin/tracerd; setcap cap_bpf,cap_perfmon+ep /usr/local/bin/tracerd
            user ./tracerd run -- true
        """)
        self.assertIn("polls /proc", done.stderr)
        self.assertNotIn("planted", done.stdout)

    def test_a_copy_that_others_may_write_is_not_run(self):
        done = self.on_host("""
            printf '#!/bin/sh\\necho planted\\n' > /usr/local/bin/tracerd
            setcap cap_bpf,cap_perfmon+ep /usr/local/bin/tracerd; chmod 777 /usr/local/bin/tracerd; setcap cap_bpf,cap_perfmon+ep /usr/local/bin/tracerd
            user ./tracerd run -- true
        """)
        self.assertNotIn("planted", done.stdout + done.stderr)


if __name__ == "__main__":
    support.main()
