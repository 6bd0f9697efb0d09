#!/usr/bin/env python3
"""Stages the npm packages and writes the wheel for one binary: make.py BINARY STAGE WHEELS

The platform is read from the binary, version and repository from Cargo.toml. Standard Python alone, no network. With SBOM=FILE the wheel
contains that file. The same binary gives the same bytes.
"""

import base64
import hashlib
import json
import os
import re
import struct
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MANIFEST = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
WHEEL_TAGS = {
    "linux-x64": ["manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"],
    "linux-arm64": ["manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"],
    "darwin-x64": ["macosx_10_12_x86_64"],
    "darwin-arm64": ["macosx_11_0_arm64"],
    "win32-x64": ["win_amd64"],
}
# A binary that loads the C library of this machine may not run on another; PyPI takes no such wheel.
OWN_TAGS = {"linux-x64": ["linux_x86_64"], "linux-arm64": ["linux_aarch64"]}


def of_manifest(key):
    return re.search(rf'^{key} = "(.*)"$', MANIFEST, re.MULTILINE).group(1)


VERSION, REPOSITORY = of_manifest("version"), of_manifest("repository")
OWNER = REPOSITORY.split("/")[3]


def platform(binary):
    """The platform that a binary is for, and whether it loads no library of the system's."""
    if binary[:4] == b"\x7fELF":
        cpu = {62: "x64", 183: "arm64"}[struct.unpack_from("<H", binary, 18)[0]]
        first, size, count = struct.unpack_from("<Q", binary, 32)[0], *struct.unpack_from("<HH", binary, 54)
        kinds = [struct.unpack_from("<I", binary, first + index * size)[0] for index in range(count)]
        return f"linux-{cpu}", 3 not in kinds  # PT_INTERP
    if binary[:4] == b"\xcf\xfa\xed\xfe":
        return "darwin-" + {0x01000007: "x64", 0x0100000C: "arm64"}[struct.unpack_from("<I", binary, 4)[0]], True
    if binary[:2] == b"MZ":
        machine = struct.unpack_from("<H", binary, struct.unpack_from("<I", binary, 60)[0] + 4)[0]
        return "win32-" + {0x8664: "x64"}[machine], True
    sys.exit("expected a binary for Linux, macOS (of one processor) or Windows")


def readme():
    """README with its relative links made absolute, as package pages need them."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    page, picture = f"{REPOSITORY}/blob/v{VERSION}/", f"{REPOSITORY}/raw/v{VERSION}/"
    return re.sub(r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)]+)\)", lambda m: f"{m[1]}{m[2]}({picture if m[1] else page}{m[3]})", text)


def stage_npm(binary, name, is_static, stage):
    for package in ("allowexec", name):
        source, target = HERE / "npm" / package, stage / package
        (target / "bin").mkdir(parents=True)
        manifest = json.loads((source / "package.json").read_text(encoding="utf-8"))
        manifest |= {"version": VERSION, "homepage": REPOSITORY, "repository": {"type": "git", "url": f"git+{REPOSITORY}.git"}}
        if package == "allowexec":
            manifest["mcpName"] = f"io.github.{OWNER}/allowexec"
            manifest["optionalDependencies"] = dict.fromkeys(manifest["optionalDependencies"], VERSION)
            (target / "README.md").write_text(readme(), encoding="utf-8")
            (target / "bin/allowexec.js").write_bytes((source / "bin/allowexec.js").read_bytes())
            os.chmod(target / "bin/allowexec.js", 0o755)
        else:
            if not is_static:
                manifest["libc"] = ["glibc"]
            (target / manifest["files"][0]).write_bytes(binary)
            os.chmod(target / manifest["files"][0], 0o755)
        (target / "package.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        for licence in ROOT.glob("LICENSE-*"):
            (target / licence.name).write_bytes(licence.read_bytes())


def write_wheel(binary, name, is_static, wheels):
    tags = WHEEL_TAGS[name] if is_static else OWN_TAGS[name]
    info, scripts = f"allowexec-{VERSION}.dist-info", f"allowexec-{VERSION}.data/scripts"
    licences = sorted(path.name for path in ROOT.glob("LICENSE-*"))
    description = of_manifest("description")
    metadata = ["Metadata-Version: 2.4", "Name: allowexec", f"Version: {VERSION}", f"Summary: {description}"]
    metadata += ["Keywords: mcp,allowlist,sandbox,shell", "License-Expression: MIT OR Apache-2.0"]
    metadata += [f"License-File: {licence}" for licence in licences]
    metadata += ["Requires-Python: >=3.8", f"Project-URL: Repository, {REPOSITORY}", "Description-Content-Type: text/markdown", "", readme()]
    wheel = ["Wheel-Version: 1.0", "Generator: allowexec", "Root-Is-Purelib: false", *(f"Tag: py3-none-{tag}" for tag in tags), ""]
    files = {f"{scripts}/allowexec" + (".exe" if name.startswith("win32") else ""): binary}
    files |= {f"{info}/licenses/{licence}": (ROOT / licence).read_bytes() for licence in licences}
    if sbom := os.environ.get("SBOM"):
        files[f"{info}/sboms/allowexec.cdx.json"] = Path(sbom).read_bytes()
    files |= {f"{info}/METADATA": "\n".join(metadata).encode(), f"{info}/WHEEL": "\n".join(wheel).encode()}
    record = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}\n")
    files[f"{info}/RECORD"] = "".join(record + [f"{info}/RECORD,,\n"]).encode()
    wheels.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheels / f"allowexec-{VERSION}-py3-none-{'.'.join(tags)}.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if path.startswith(scripts) else 0o100644) << 16
            archive.writestr(entry, content)


def main():
    file, stage, wheels = map(Path, sys.argv[1:])
    binary = file.read_bytes()
    name, is_static = platform(binary)
    stage_npm(binary, name, is_static, stage)
    write_wheel(binary, name, is_static, wheels)
    print(name, "" if is_static else "(for machines like this one: the binary loads the C library)")


main()
