# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm of one host: munged, slurmctld and slurmd with all their files in one folder."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

NEEDED = ("munged", "slurmctld", "slurmd", "srun", "sinfo")


def missing():
    """Why this cannot be tested here, or None."""
    absent = [n for n in NEEDED if not shutil.which(n, path=os.environ.get("PATH", "") + ":/usr/sbin")]
    if absent:
        return "no " + ", ".join(absent)
    return None if os.geteuid() == 0 else "the daemons need root"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Slurm:
    def __enter__(self):
        # munged wants nobody else to write above its files
        self.place = tempfile.mkdtemp(prefix="tweed-slurm-", dir="/run")
        os.chmod(self.place, 0o755)
        self.daemons = []
        host = socket.gethostname().split(".")[0]
        for folder in ("m", "c", "d", "t"):
            os.mkdir(f"{self.place}/{folder}", 0o755)
        with open(f"{self.place}/m/key", "wb") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(os.urandom(1024))
        config = f"{self.place}/slurm.conf"
        with open(config, "w", encoding="ascii") as f:
            f.write(f"ClusterName=tweed\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\n"
                    f"ProctrackType=proctrack/linuxproc\n"
                    f"ReturnToService=2\nSlurmctldPort={free_port()}\nSlurmdPort={free_port()}\n"
                    f"SlurmctldPidFile={self.place}/c/pid\nSlurmdPidFile={self.place}/d/pid\n"
                    f"SlurmdSpoolDir={self.place}/d\n"
                    f"StateSaveLocation={self.place}/c\nTaskPlugin=task/none\nSelectType=select/cons_tres\n"
                    f"AuthType=auth/munge\n"
                    f"CredType=cred/munge\nTmpFS={self.place}/t\nAuthInfo=socket={self.place}/m/socket\n"
                    f"NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN\n"
                    f"PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
        self.environment = {"SLURM_CONF": config}
        self.start("munged", "--foreground", "--force", f"--key-file={self.place}/m/key",
                   f"--socket={self.place}/m/socket",
                   f"--pid-file={self.place}/m/pid", f"--log-file={self.place}/m/log",
                   f"--seed-file={self.place}/m/seed")
        self.start("slurmctld", "-D", "-f", config)
        self.start("slurmd", "-D", "-f", config)
        return self

    def start(self, name, *args):
        path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
        with open(f"{self.place}/{name}.log", "w", encoding="ascii") as log:
            self.daemons.append(subprocess.Popen([path, *args], stdout=log, stderr=log,
                                                 env={**os.environ, **self.environment}))
        time.sleep(0.5)

    def ready(self):
        """Wait for the node; None, or what was said last."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            said = subprocess.run(["sinfo", "-h", "-o", "%t"], capture_output=True, check=False,
                                  env={**os.environ, **self.environment})
            if b"idle" in said.stdout:
                return None
            time.sleep(0.2)
        return (said.stdout + said.stderr).decode(errors="replace").strip()

    def steps(self):
        """The daemons of job steps, which end after srun."""
        mark = f"SLURM_CONF={self.place}/".encode()
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f, open(f"/proc/{pid}/comm", encoding="ascii",
                                                                   errors="replace") as name:
                    if name.read().startswith("slurmstepd") and mark in f.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def __exit__(self, *_):
        end = time.monotonic() + 20
        while (left := self.steps()) and time.monotonic() < end:
            time.sleep(0.1)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.place)
