"""Another program designs noise through the command line and reads the answer: stable JSON with a
JSON Schema for each format."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from leastnoise.files.schemas import schema

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "noise.json"
    # The command `leastnoise`, wherever it is installed.
    command = [sys.executable, "-c", "from leastnoise.cli import main; main()"]
    request = [
        "design",
        "--delta",
        "1e-6",
        "--epsilon",
        "1",
        "--compositions",
        "10",
        "--domain",
        "integer",
        "--json",
        "--out",
    ]
    answer = subprocess.run(
        [*command, *request, str(file)], capture_output=True, text=True, check=True
    )
    found = json.loads(answer.stdout)
    artefact = json.loads(file.read_text(encoding="utf-8"))

print(
    f"ε = {found['epsilon']:.6f}, σ = {found['sigma']:.4f}, certified for the integer weights: "
    f"{found['artefact_epsilon']:.6f}"
)
print(
    f"{len(artefact['content']['law']['weights'])} weights of "
    f"{artefact['content']['law']['bits']} bits"
)
for name, content in (("design", found), ("artefact", artefact)):
    required = schema(name)["required"]
    print(
        f"{schema(name)['title']}: {len(required)} required fields, all there: "
        f"{set(required) <= set(content)}"
    )
