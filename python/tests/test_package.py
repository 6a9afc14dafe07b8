"""The stub says what is there, the notebooks run, and what the guide shows works."""

import ast
import json
import os
import re
import unittest
from pathlib import Path

import ropewalk
from ropewalk import _core
from common import ROOT

HERE = Path(ropewalk.__file__).parent
PICTURES = Path(os.environ.get("ROPEWALK_PICTURES", "/nonexistent"))


def public(names):
    return {name for name in names if not name.startswith("_") or name in ("__len__", "__arrow_c_stream__")}


class Package(unittest.TestCase):
    def test_the_stub_says_what_the_module_has(self):
        self.assertTrue((HERE / "py.typed").exists())
        tree = ast.parse((HERE / "_core.pyi").read_text())
        stub = {}
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                names = [n.name if isinstance(n, ast.FunctionDef) else getattr(getattr(n, "target", None), "id", "_") for n in node.body]
                stub[node.name] = public(names)
            elif isinstance(node, ast.FunctionDef):
                stub[node.name] = None
                self.assertTrue(ast.get_docstring(node), node.name)
            elif isinstance(node, ast.AnnAssign):
                stub[node.target.id] = None
        self.assertEqual(set(stub), public(vars(_core)))
        for name in ("Table", "Scenario", "Stop"):
            self.assertEqual(stub[name], public(vars(getattr(_core, name))), name)
        self.assertEqual(stub["Run"], public(vars(_core.Run)) | set(_core.TABLES))
        self.assertEqual(stub["ScenarioError"], {"problems"})

    def test_what_the_guide_shows_works(self):
        page = (ROOT / "docs/guide/notebooks.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        self.assertGreater(len(blocks), 2)
        space, before = {}, os.getcwd()
        os.chdir(ROOT)
        self.addCleanup(os.chdir, before)
        for block in blocks:
            if "ray" not in block:
                exec(compile(block, "notebooks.md", "exec"), space)

    def test_notebooks_run_from_top_to_bottom_and_draw(self):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        notebooks = sorted((ROOT / "python/notebooks").glob("*.ipynb"))
        self.assertGreater(len(notebooks), 1)
        for notebook in notebooks:
            with self.subTest(notebook.name):
                cells = json.loads(notebook.read_text())["cells"]
                self.assertFalse(any(cell.get("outputs") for cell in cells), "outputs do not belong into the repository")
                os.chdir(notebook.parent)
                space = {}
                for i, cell in enumerate(cells):
                    if cell["cell_type"] == "code":
                        exec(compile("".join(cell["source"]), f"{notebook.name}:{i}", "exec"), space)
                figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
                self.assertTrue(figures)
                for i, figure in enumerate(figures):
                    self.assertTrue(any(axes.has_data() for axes in figure.axes))
                    if PICTURES.is_dir():
                        figure.savefig(PICTURES / f"{notebook.stem}-{i}.png", dpi=80)
                pyplot.close("all")
