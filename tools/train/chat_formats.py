"""How each family writes texts and conversations: a corpus.Conversation becomes pieces, ("text", s) or ("special", s).

A format has END, the special token after a text, STOPS, those that end a turn of the assistant, begin_text(), render(talk),
and prompt(talk): all but the last answer, up to where the assistant goes on.
"""

import json

import corpus

EFFORT_TEXT = ("`thinking_effort` guides on how much to think in your thinking channel (not including the response channel), "
               "supported values include `low`, `medium`, `high`, and `max`.\n"
               "Now the system is invoked with `thinking_effort=%s`.")
TOOLS_TEXT = "# Tools\nHere are the available tools, described in JSONSchema.\n\n```json\n%s\n```"


class Xtml:
    """Kimi K3 (kimi_k3.md 6): tag names, each of the four parts of an attribute and each body are pieces of their own."""

    END = "[EOS]"
    STOPS = ("[EOS]", "<|end_of_msg|>")

    @staticmethod
    def begin_text():
        return []

    @staticmethod
    def head(talk):
        pieces = []
        effort = talk.effort if talk.says_effort else None
        if talk.tools:
            listed = json.dumps(talk.tools, sort_keys=True, separators=(",", ":"))
            pieces += message([("role", "system"), ("type", "tool-declare")], TOOLS_TEXT % listed)
        if effort:
            pieces += message([("role", "system"), ("type", "thinking-effort")], EFFORT_TEXT % effort)
        if talk.system:
            pieces += message([("role", "system")], talk.system)
        return pieces

    @classmethod
    def render(cls, talk):
        pieces = cls.head(talk)
        for turn in talk.turns:
            pieces += cls.before_answer(talk, turn)
            pieces += assistant(turn.thought if talk.thinking else None, turn.answer)
        return pieces

    @staticmethod
    def before_answer(talk, turn):
        pieces = message([("role", "user")], turn.user)
        if turn.call:
            calls = [(turn.call.tool, key, value) for key, value in turn.call.arguments.items()]
            pieces += assistant(turn.call_thought if talk.thinking else None, "", calls)
            pieces += message([("role", "tool"), ("tool", turn.call.tool), ("index", "1")], turn.call.result)
        return pieces

    @classmethod
    def prompt(cls, talk):
        """Up to the last answer; the last turn's call is not made yet."""
        last = corpus.Turn(talk.turns[-1].user, "")
        pieces = cls.render(corpus.Conversation(**{**vars(talk), "turns": talk.turns[:-1]}))
        return pieces + cls.before_answer(talk, last) + generation_prefix(talk.thinking)


def open_tag(tag, attributes=()):
    pieces = [("special", "<|open|>"), ("text", tag)]
    for key, value in attributes:
        escaped = value.replace("&", "&amp;").replace('"', "&quot;")
        pieces += [("text", " " + key), ("text", '="'), ("text", escaped), ("text", '"')]
    return pieces + [("special", "<|sep|>")]


def close_tag(tag):
    return [("special", "<|close|>"), ("text", tag), ("special", "<|sep|>")]


def element(tag, attributes, body):
    return open_tag(tag, attributes) + ([("text", body)] if body else []) + close_tag(tag)


def message(attributes, body):
    return element("message", attributes, body) + [("special", "<|end_of_msg|>")]


def assistant(thought, answer, calls=()):
    """An assistant turn; thought None is the non-thinking mode; a call is (tool, key, string value)."""
    pieces = open_tag("message", [("role", "assistant")])
    if thought is not None:
        pieces += element("think", [], thought)
    pieces += element("response", [], answer)
    if calls:
        pieces += open_tag("tools")
        for i, (tool, key, value) in enumerate(calls, 1):
            pieces += open_tag("call", [("tool", tool), ("index", str(i))])
            pieces += element("argument", [("key", key), ("type", "string")], value) + close_tag("call")
        pieces += close_tag("tools")
    return pieces + close_tag("message") + [("special", "<|end_of_msg|>")]


def generation_prefix(thinking):
    return open_tag("message", [("role", "assistant")]) + open_tag("think" if thinking else "response")


GLM_TOOLS = """
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
%s
</tools>

For each function call, output the function name and arguments within the following XML format:
"""
GLM_CALL_FORM = [("special", "<tool_call>"), ("text", "{function-name}")] + [
    piece for n in (1, 2) for piece in (
        ("special", "<arg_key>"), ("text", "{arg-key-%d}" % n), ("special", "</arg_key>"),
        ("special", "<arg_value>"), ("text", "{arg-value-%d}" % n), ("special", "</arg_value>"))] + [
    ("text", "..."), ("special", "</tool_call>")]


class Glm:
    """GLM-5.2 (glm_5_2.md 8): roles are tokens, a turn ends where the next role begins, old reasoning is left out."""

    END = "<|endoftext|>"
    STOPS = ("<|endoftext|>", "<|user|>", "<|observation|>")

    @staticmethod
    def begin_text():
        return [("special", "[gMASK]"), ("special", "<sop>")]

    @staticmethod
    def head(talk):
        pieces = Glm.begin_text()
        if talk.thinking:
            effort = "High" if talk.effort == "high" else "Max"
            pieces += [("special", "<|system|>"), ("text", "Reasoning Effort: " + effort)]
        if talk.tools:
            listed = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in talk.tools)
            pieces += [("special", "<|system|>"), ("text", GLM_TOOLS % listed), *GLM_CALL_FORM]
        if talk.system:
            pieces += [("special", "<|system|>"), ("text", talk.system)]
        return pieces

    @classmethod
    def render(cls, talk):
        """Reasoning only after the last user message, as the template shows it."""
        pieces = cls.head(talk)
        for number, turn in enumerate(talk.turns):
            shown = talk.thinking and number == len(talk.turns) - 1
            pieces += cls.before_answer(turn, shown)
            pieces += cls.assistant(turn.thought if shown else "") + [("text", turn.answer)]
        return pieces + [("special", "<|user|>")]

    @staticmethod
    def assistant(thought):
        body = [("text", thought)] if thought else []
        return [("special", "<|assistant|>"), ("special", "<think>"), *body, ("special", "</think>")]

    @classmethod
    def before_answer(cls, turn, shown):
        pieces = [("special", "<|user|>"), ("text", turn.user)]
        if turn.call:
            pieces += cls.assistant(turn.call_thought if shown else "") + [("special", "<tool_call>"), ("text", turn.call.tool)]
            for key, value in turn.call.arguments.items():
                text = value if isinstance(value, str) else json.dumps(value)
                pieces += [("special", "<arg_key>"), ("text", key), ("special", "</arg_key>"),
                           ("special", "<arg_value>"), ("text", text), ("special", "</arg_value>")]
            pieces += [("special", "</tool_call>"), ("special", "<|observation|>"), ("special", "<tool_response>"),
                       ("text", turn.call.result), ("special", "</tool_response>")]
        return pieces

    @classmethod
    def prompt(cls, talk):
        pieces = cls.head(talk)
        for turn in talk.turns[:-1]:
            pieces += cls.before_answer(turn, False) + cls.assistant("") + [("text", turn.answer)]
        pieces += [("special", "<|user|>"), ("text", talk.turns[-1].user), ("special", "<|assistant|>"), ("special", "<think>")]
        return pieces + ([] if talk.thinking else [("special", "</think>")])


class OlmoeInstruct:
    """OLMoE's instruct template (olmoe.md 4): roles are ordinary text; no tools, no thinking."""

    END = "|||IP_ADDRESS|||"
    STOPS = (END,)

    @classmethod
    def begin_text(cls):
        return []

    @classmethod
    def render(cls, talk):
        pieces, text = [("special", cls.END)], cls.system(talk)
        for turn in talk.turns:
            text += f"<|user|>\n{turn.user}\n<|assistant|>\n{turn.answer}"
            pieces += [("text", text), ("special", cls.END)]
            text = "\n"
        return pieces

    @staticmethod
    def system(talk):
        return f"<|system|>\n{talk.system}\n" if talk.system else ""

    @classmethod
    def prompt(cls, talk):
        whole = cls.render(talk)[:-1]
        answer = talk.turns[-1].answer
        return whole[:-1] + [("text", whole[-1][1][:len(whole[-1][1]) - len(answer)])]


class OlmoeWorld(corpus.WiderWorld):
    tools = False

    def tool_chat(self):
        return self.chat()


WORLDS = {"kimi_k3": (corpus.World, Xtml), "glm_dsa": (corpus.WiderWorld, Glm), "olmoe": (OlmoeWorld, OlmoeInstruct)}


def world(family, seed):
    kind, chat_format = WORLDS[family]
    return kind(seed, chat_format)
