"""Scenarios from files, texts and dictionaries; what is wrong is said as the checker says it."""

import pickle
import tomllib

import ropewalk
from common import BOND, ROOT, Case, scenario


class Scenarios(Case):
    def test_a_file_a_text_and_a_dictionary_are_one_scenario(self):
        file = self.directory / "bond.toml"
        file.write_text(BOND)
        ways = [
            ropewalk.Scenario.load(file),
            ropewalk.Scenario.load(str(file)),
            ropewalk.Scenario.from_text(BOND),
            ropewalk.Scenario.from_dict(tomllib.loads(BOND)),
            ropewalk.Scenario.from_text(scenario().to_toml()),
            pickle.loads(pickle.dumps(scenario())),
        ]
        self.assertEqual({way.hash for way in ways}, {scenario().hash})
        self.assertEqual((ways[0].title, ways[0].seed, ways[0].duration_s), ("a bond", 1, 1.2))

    def test_overrides_set_keys_of_every_kind(self):
        changed = scenario().override({"link.*.delay": "50ms", "link.wan1.back": {"delay": "70ms"}, "seed": 9})
        text = changed.to_toml()
        self.assertEqual((text.count('delay = "50ms"'), text.count('delay = "70ms"')), (2, 1), text)
        self.assertEqual(changed.seed, 9)
        self.assertNotEqual(changed.hash, scenario().hash)
        self.assertEqual(pickle.loads(pickle.dumps(changed)).hash, changed.hash)
        self.assertEqual(scenario().override({"link.wan2.delay": "30ms"}).hash, scenario().hash)

    def test_all_that_is_wrong_is_one_exception(self):
        file = self.directory / "bad.toml"
        file.write_text(BOND.replace('"8Mbit/s"', "8").replace("delay", "dealy"))
        with self.assertRaises(ropewalk.ScenarioError) as caught:
            ropewalk.Scenario.load(file)
        error = caught.exception
        self.assertIsInstance(error, ValueError)
        self.assertIn("8 has no unit; write a rate as a text, such as", str(error))
        self.assertIn("there is no such key; did you mean `delay`?", str(error))
        self.assertEqual(len(error.problems), len(str(error).splitlines()))
        place, key, sentence = error.problems[0]
        self.assertEqual((place, key), (f"{file}:12", "link.wan1.rate"))
        self.assertIn("no unit", sentence)

    def test_what_cannot_be_is_said_with_its_key(self):
        refused = [
            (ropewalk.ScenarioError, "did you mean `wan2`", {"link.wan3.delay": "1ms"}),
            (ropewalk.ScenarioError, "override link.wan2.delay = 5: link.wan2.delay: 5 has no unit", {"link.wan2.delay": 5}),
            (TypeError, "link.wan2.delay: a scenario has texts", {"link.wan2.delay": object()}),
        ]
        for kind, sentence, overrides in refused:
            with self.assertRaises(kind) as caught:
                scenario().override(overrides)
            self.assertIn(sentence, str(caught.exception))
        endless = {}
        endless["node"] = endless
        with self.assertRaisesRegex(TypeError, "too deeply"):
            ropewalk.Scenario.from_dict(endless)
        with self.assertRaisesRegex(ropewalk.ScenarioError, "cannot be read"):
            ropewalk.Scenario.load(self.directory / "none.toml")

    def test_a_sweep_of_a_file_is_expanded(self):
        file = ropewalk.Scenario.load(ROOT / "scenarios/003/streams.toml")
        points = file.expand()
        self.assertEqual(len(points), 8 * 5)
        self.assertEqual(points[0].labels, {"streams": "1", "hops": "1"})
        self.assertEqual(points[-1].labels, {"streams": "large-window", "hops": "5"})
        self.assertEqual(len({point.hash for point in points}), 40)
        self.assertEqual(file.seeds, [1, 2, 3])
        again = pickle.loads(pickle.dumps(points[7]))
        self.assertEqual((again.hash, again.labels), (points[7].hash, points[7].labels))
