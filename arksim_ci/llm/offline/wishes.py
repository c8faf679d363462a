"""The goal, which is written to the simulated user in the second person, as what that user says and wants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from arksim_ci.llm.offline.text import sentences, words

_ADVERBS = re.compile(
    r"^(?:(?:firmly|politely|directly|then|also|finally|first|next|after that|now|clearly|simply|please|if possible)[, ]\s*)+",
    re.I,
)
_IF_AGENT = re.compile(
    r"^(?:if|when) (?:the agent|it|they|he|she) (?:asks?|wants to know|requests?)(?: you)?\s*(?:about|for|whether|which|what|if|to)?\s*"
    r"(?P<trigger>[^,]+),\s*(?:then )?(?:answer|say|reply|tell (?:it|them|the agent)|respond|explain)\b[^,]*?\bthat\s+(?P<reply>.+)$",
    re.I,
)
_DIRECTION = re.compile(
    r"^(?:if|when|the agent|push|press|do not|don['’]t|never|only|stay|keep|remain|be|act|insist|accept|stop|end|use|"
    r"you are not interested|you do not want|you don['’]t want)\b",
    re.I,
)
_QUOTED = re.compile(r"""\b(?:tell|ask|say|write|start)\b[^'"“‘]{0,60}['"“‘](?P<said>.{8,})['"”’]""", re.I)
_MAKE_AGENT = re.compile(
    r"^(?:you(?:r goal is to| want to| need to)\s+)?(?:get|push|press|urge|convince|persuade|ask|tell|have) (?:the agent|it|them) to (?P<what>.+)$",
    re.I,
)
_ASK = re.compile(
    r"^(?:you (?:want|need|would like) to )?(?:ask|find out|inquire)\b(?: the agent| them| it)?(?: directly)?\s*(?P<what>.+)$",
    re.I,
)
_TELL = re.compile(r"^(?:tell|inform|explain to|let) the agent (?:know )?(?:that )?(?P<what>.+)$", re.I)
_WANT = re.compile(
    r"^you (?:really |just |also |only |now |would |['’]d )*(?:want|wish|need|like|hope|plan|intend|are trying|are looking)\b",
    re.I,
)
_WANT_LATER = re.compile(
    r"\b(?:and|so|but|then) (?:you )?(?:now |really |just )?(?:want|wish|need|would like) to\b", re.I
)
_GOAL_IS = re.compile(r"^your goal is (?:to )?", re.I)
_WH: Final = r"(?:how|what|when|where|whether|which|who|whom|why|if)"
_STARTS_WH = re.compile(rf"^{_WH}\b", re.I)
_FIRST_WH = re.compile(
    rf"\b(?:know|learn|about|out|understand|tell you|ask|clarify|see|check|confirm)\s+(?={_WH}\b)", re.I
)
_SPLIT_WH = re.compile(rf",?\s+and\s+(?:also\s+)?(?={_WH}\b)|,\s*(?={_WH}\b)", re.I)
_INCLUDING = re.compile(r",?\s+(?:including|especially|in particular|such as)\s+", re.I)
_SPLIT_LIST = re.compile(r",\s*(?:and\s+)?|\s+and\s+(?=\S+(?:\s+\S+){0,3}$)")
_OF_ONE_THING = re.compile(r"(?:the|my|your|its|their|his|her)\b", re.I)
_THIRD_PERSON = re.compile(
    r"^(?:the |a |this )?(?:simulated )?(?:user|customer|guest|client|caller|visitor|patient|shopper) "
    r"(?:also |really |now |just )?(?P<verb>wants?|wishes|needs?|would like|is trying|is looking)\b",
    re.I,
)
_WITH_OBJECT = re.compile(
    r"[a-z]+ (?:your|my|a|an|the|our|its|their|it|them|us|me|all|any|some|another|one|two)\b", re.I
)
_NO_VERBS: Final = frozenset(
    """about after all and any as at before beyond both by during every for from help here in inside into no of on or our over part
    per than that their these this those to under until up what with within without your""".split()  # noqa: SIM905
)
_VERBS: Final = frozenset(
    """add apply arrange ask assess avoid become bring build buy cancel choose combine compare complain consider create delete
    describe discover enroll explain find get give go have install join keep know learn leave let locate maintain make obtain open
    prepare prevent protect receive recover redeem register resolve restore see sell send settle sign subscribe talk understand
    update verify""".split()  # noqa: SIM905
)
_VERBS_OR_NOUNS: Final = frozenset(
    """book change dispute exchange fix order pay pick place purchase rent repair replace reset return save schedule start stop
    switch upgrade""".split()  # noqa: SIM905
)
_STATEMENT = re.compile(
    r"\b(?:you|your|yours|i|my)\b|^(?:the|a|an|it|there|this|that|these|those|last|today|yesterday|because|after|since)\b",
    re.I,
)

_VERBS_BEFORE_ME: Final = frozenset(
    """to for with from of at by about tell told give gives gave sent send sends show shows help helps offer offers let lets
    charge charged call calls contact contacts than via without lets sell ask asks asked answer owe owes want wants get gets
    put puts connect transfer refund refunds reach update inform on""".split()  # noqa: SIM905
)
_PERSON = re.compile(
    r"\b(?P<agent>the agent['’]s|the agent)\b|\b(?P<be>(?:are|were) you|you(?:['’]re| are| were))\b|"
    r"\b(?P<you>you(?:['’](?:ve|ll|d))?|yourself|your|yours)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing that the user wants: what to say to get it."""

    message: str


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal, read.

    `opening` is the first message; `wishes` is everything wanted, and the goal is complete when each has been met;
    `replies` are answers that the goal prescribes: when the agent asks about the first, say the second.
    """

    opening: str
    wishes: tuple[Wish, ...]
    replies: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1024)
def read_goal(goal: str) -> Goal:
    """Read a goal sentence by sentence: situation, wishes, prescribed replies. Stage directions are left out."""
    opening: list[str] = []
    wishes: list[Wish] = []
    replies: list[tuple[str, str]] = []
    for written in sentences(goal):
        sentence = _THIRD_PERSON.sub(_to_second_person, _ADVERBS.sub("", written))
        reply = _IF_AGENT.match(sentence)
        if reply:
            replies.append((reply["trigger"], _as_sentence(to_first_person(reply["reply"]))))
            continue
        messages, parts = _read_sentence(sentence)
        if not wishes or not parts:
            opening.extend(messages)
        wishes.extend(Wish(part) for part in parts)
    if not opening:
        opening = [wishes[0].message if wishes else goal.strip() or "Hello."]
    return Goal(" ".join(opening), tuple(wishes) or (Wish(" ".join(opening)),), tuple(replies))


def _read_sentence(sentence: str) -> tuple[list[str], list[str]]:
    """What a sentence of the goal makes the user say, and the wishes in it."""
    spoken = _told_to_say(sentence)
    if spoken is not None:
        return spoken[:1], spoken
    statement = _as_sentence(to_first_person(_GOAL_IS.sub("You want to ", sentence)))
    if _WANT.match(sentence) or _GOAL_IS.match(sentence) or _WANT_LATER.search(sentence):
        return [statement], _wanted(statement)
    if _STATEMENT.search(sentence) or len(words(sentence)) < 2:
        return [statement], []
    if sentence.casefold().startswith("to "):
        statement = _as_sentence(f"I would like {statement[0].lower()}{statement[1:]}")
    elif is_instruction(sentence, is_wish=True):
        statement = _as_sentence(f"I would like to {statement[0].lower()}{statement[1:]}")
    return [statement], _wanted(statement)


def _told_to_say(sentence: str) -> list[str] | None:
    """What the goal tells the user to say or ask, [] for a stage direction; None where it is neither."""
    spoken: list[str] | None = None
    if quoted := _QUOTED.search(sentence):
        spoken = [quoted["said"].strip()]
    elif made := _MAKE_AGENT.match(_GOAL_IS.sub("", sentence)):
        spoken = [_as_sentence(f"Please {to_first_person(made['what'])}")]
    elif _DIRECTION.match(sentence):
        spoken = []
    elif asked := _ASK.match(sentence):
        spoken = [_question(part) for part in _parts(to_first_person(asked["what"]))]
    elif told := _TELL.match(sentence):
        spoken = [_as_sentence(to_first_person(told["what"]))]
    return spoken


def _wanted(spoken: str) -> list[str]:
    """The wishes in a sentence of the user: its parts where it lists some, else the sentence."""
    named = _INCLUDING.split(spoken.rstrip(".!"), maxsplit=1)
    if len(named) == 2:
        return [_question(part) for part in _SPLIT_LIST.split(named[1]) if part.strip()]
    start = _FIRST_WH.search(spoken)
    if start:
        return [_question(part) for part in _parts(spoken[start.end() :])]
    return [spoken]


def _parts(text: str) -> list[str]:
    return [part.strip() for part in _SPLIT_WH.split(text.rstrip(".!? ")) if part.strip()]


def _question(part: str) -> str:
    """A part of a wish as a message of its own."""
    part = part.strip().rstrip(".!?").strip()
    if re.match(r"if\b", part, re.I):
        part = f"whether{part[2:]}"
    if _STARTS_WH.match(part):
        return f"Could you tell me {part[0].lower()}{part[1:]}?"
    for lead, message in (
        ("for ", "I would like {}."),
        ("to ", "Please {}."),
        ("about ", "What can you tell me about {}?"),
    ):
        if part.casefold().startswith(lead):
            return message.format(part[len(lead) :])
    named = f"{part[:1].lower()}{part[1:]}"
    if _OF_ONE_THING.match(named):
        return f"Could you tell me {named}?"
    return f"Could you tell me about {named}?"


def is_instruction(text: str, *, is_wish: bool = False) -> bool:
    """Whether a text begins with a verb that says what to do ("Maintain your roof").

    Words that are nouns as often ("return shipping", "return shoes") count as verbs only where the text is a wish.
    """
    said = words(text)
    if len(said) < 2 or said[0] in _NO_VERBS or said[0].endswith(("ing", "s")):
        return False
    if said[0] in _VERBS or _WITH_OBJECT.match(text):
        return True
    return is_wish and said[0] in _VERBS_OR_NOUNS and said[1] not in ("of", "for", "status")


def _to_second_person(match: re.Match[str]) -> str:
    verb = match["verb"].casefold()
    return "You " + {"wants": "want", "wishes": "wish", "needs": "need"}.get(verb, verb.replace("is ", "are "))


def to_first_person(text: str) -> str:
    """Turn text about "you" and "the agent" into the user's own words: "you want" -> "I want", "the agent" -> "you"."""
    return _PERSON.sub(lambda match: _turned(match, text), text)


def _turned(match: re.Match[str], text: str) -> str:
    found = match.group(0).casefold().replace("’", "'")
    if match["agent"]:
        return "your" if found.endswith("'s") else "you"
    if match["be"]:
        return {"are you": "am I", "were you": "was I", "you were": "I was", "you're": "I'm"}.get(found, "I am")
    fixed = {"your": "my", "yours": "mine", "yourself": "myself", "you've": "I've", "you'll": "I'll", "you'd": "I'd"}
    if found in fixed:
        mine = fixed[found]
        return mine.capitalize() if match.group(0)[0].isupper() else mine
    before = words(text[: match.start()][-40:])
    after = text[match.end() :].lstrip()
    is_object = bool(before) and (before[-1] in _VERBS_BEFORE_ME or before[-1].endswith("ing"))
    return "me" if is_object or (bool(before) and not re.match(r"[\w'’(]", after)) else "I"


def _as_sentence(text: str) -> str:
    text = text.strip()
    text = f"{text[:1].upper()}{text[1:]}"
    return text if text.endswith((".", "!", "?", "…", "。")) else f"{text}."
