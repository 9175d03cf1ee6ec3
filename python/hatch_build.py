"""Build hook of the wheel: compiles the gdsvd program and puts it into gdsvd/_bin.

The environment variables GOOS and GOARCH choose the platform and so the tag of the wheel; the default is this machine. The program is
static, so that one wheel serves glibc and musl.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TAGS = {
    ("linux", "amd64"): "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    ("linux", "arm64"): "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    ("darwin", "amd64"): "macosx_12_0_x86_64",
    ("darwin", "arm64"): "macosx_12_0_arm64",
    ("windows", "amd64"): "win_amd64",
    ("windows", "arm64"): "win_arm64",
}


class Program(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "editable":
            raise SystemExit("gdsvd cannot be installed as editable: the program is compiled into the wheel; use pip install python/")
        root = pathlib.Path(self.root)
        source = root / "go" if (root / "go" / "go.mod").exists() else root.parent
        if not (source / "cmd" / "gdsvd").is_dir():
            raise SystemExit(f"no source of the program in {source}: build the wheel in a checkout of the repository")
        if not shutil.which("go"):
            raise SystemExit("go is not installed: the program of the wheel is compiled with it, see https://go.dev/dl")
        env = dict(os.environ, CGO_ENABLED="0")
        goos, goarch = subprocess.check_output(["go", "env", "GOOS", "GOARCH"], env=env, text=True).split()
        if (goos, goarch) not in TAGS:
            raise SystemExit(f"there is no wheel for {goos}/{goarch}, only for {', '.join('/'.join(t) for t in TAGS)}")
        self.made = tempfile.mkdtemp()
        name = "gdsvd.exe" if goos == "windows" else "gdsvd"
        program = os.path.join(self.made, name)
        subprocess.run(["go", "build", "-trimpath", "-tags=nethttpomithttp2", "-buildvcs=auto", "-ldflags=-s -w", "-o", program, "./cmd/gdsvd"], cwd=source, env=env, check=True)
        build = os.path.join(self.made, "build.json")
        with open(build, "w") as f:
            json.dump(self.described(program), f)
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + TAGS[goos, goarch]
        build_data["force_include"][program] = f"gdsvd/_bin/{name}"
        build_data["force_include"][build] = "gdsvd/_bin/build.json"

    def described(self, program):
        """Return version, revision and size of the program, and the offsets of the texts in it. It is not run, as it may be for another platform."""
        said = {"version": "(devel)", "revision": "", "size": os.path.getsize(program)}
        for line in subprocess.check_output(["go", "version", "-m", program], text=True).splitlines():
            kind, *rest = line.strip().split("\t")
            if kind == "mod":
                said["version"] = rest[1]
            elif kind == "build" and rest[0].startswith("vcs.revision="):
                said["revision"] = rest[0].partition("=")[2]
        said["at"] = self.places(program, {"version": f"mod\tgithub.com/gdsvd/gdsvd\t{said['version']}", "revision": f"vcs.revision={said['revision']}"}, said)
        return said

    def places(self, program, lines, said):
        """Return the byte offsets of version and revision in the file of the program, where a build line contains each of them."""
        data = pathlib.Path(program).read_bytes()
        return {name: data.index(line.encode()) + len(line) - len(said[name]) for name, line in lines.items() if said[name]}

    def finalize(self, version, build_data, artifact_path):
        shutil.rmtree(self.made, ignore_errors=True)
