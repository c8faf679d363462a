from __future__ import annotations

from arksim_ci.config.help import config_keys_help
from arksim_ci.config.model import RunConfig


def test_every_key_is_explained() -> None:
    keys = config_keys_help()
    assert [key.key for key in keys if "." not in key.key] == list(RunConfig.model_fields)
    assert all(key.type and key.description for key in keys)
    assert len({key.key for key in keys}) == len(keys)


def test_types_and_defaults_are_in_words() -> None:
    found = {key.key: (key.type, key.default) for key in config_keys_help()}
    assert found["max_turns"] == ("whole number, at least 1", "5")
    assert found["num_workers"] == ('whole number, at least 1, or "auto"', "50")
    assert found["generate_html_report"] == ("true or false", "true")
    assert found["output_dir"] == ("path", "./results/evaluation")
    assert found["min_coverage"] == ("number from 0 to 1", "1")
    assert found["judge_mode"] == ('one of "combined", "per_metric"', "combined")
    assert found["agent_config.api_config.endpoint"] == ("text", "")
    assert found["prices.NAME.cached_input"] == ("number, at least 0", "")
