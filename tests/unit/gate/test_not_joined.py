# SPDX-License-Identifier: Apache-2.0
"""What was not joined, in words."""

from __future__ import annotations

from framegate.gate.not_joined import NotJoined


def test_causes_are_numbers_to_programs_and_sentences_to_people() -> None:
    found = NotJoined({"left": {"no_partner": 1, "late": 0}, "imu": {"no_match": 1_200}}, {"imu": "imu: far away"})
    assert dict(found) == {"left": {"no_partner": 1}, "imu": {"no_match": 1_200}}
    assert found.frames == 1_201
    assert str(found).splitlines() == [
        "left: 1 frame, no_partner: another input had no frame for the output that this frame belonged to",
        "imu: 1,200 frames, no_match: no output asked for the frame: an input had more frames than there were outputs",
        "imu: far away",
    ]


def test_nothing_is_a_sentence_too() -> None:
    assert str(NotJoined({"left": {}})) == "every frame was joined"
