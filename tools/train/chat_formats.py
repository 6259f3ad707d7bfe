"""How each family writes texts and conversations: a corpus.Conversation becomes pieces, ("text", s) or ("special", s).

A format has END, the special token after a text, STOPS, those that end a turn of the assistant, begin_text(), render(talk),
and prompt(talk): all but the last answer, up to where the assistant goes on.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
import tokenizer_json  # noqa: E402

import corpus  # noqa: E402

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
            pieces += assistant(turn.call_thought if talk.thinking else None, "", turn.call)
            pieces += message([("role", "tool"), ("tool", turn.call.tool), ("index", "1")], turn.call.result)
        return pieces

    @staticmethod
    def call_pieces(call):
        return call_pieces(call)

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


def assistant(thought, answer, call=None):
    """An assistant turn; thought None is the non-thinking mode; `call` is one of a tool or None."""
    pieces = open_tag("message", [("role", "assistant")])
    if thought is not None:
        pieces += element("think", [], thought)
    pieces += element("response", [], answer)
    if call:
        pieces += open_tag("tools") + call_pieces(call) + close_tag("tools")
    return pieces + close_tag("message") + [("special", "<|end_of_msg|>")]


def call_pieces(call):
    """The only call of a turn, a string as it is and a number as such."""
    pieces = open_tag("call", [("tool", call.tool), ("index", "1")])
    for key, value in call.arguments.items():
        kind, text = ("string", value) if isinstance(value, str) else ("number", json.dumps(value))
        pieces += element("argument", [("key", key), ("type", kind)], text)
    return pieces + close_tag("call")


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
            pieces += cls.assistant(turn.call_thought if shown else "") + cls.call_pieces(turn.call)
            pieces += [("special", "<|observation|>"), ("special", "<tool_response>"),
                       ("text", turn.call.result), ("special", "</tool_response>")]
        return pieces

    @staticmethod
    def call_pieces(call):
        pieces = [("special", "<tool_call>"), ("text", call.tool)]
        for key, value in call.arguments.items():
            text = value if isinstance(value, str) else json.dumps(value)
            pieces += [("special", "<arg_key>"), ("text", key), ("special", "</arg_key>"),
                       ("special", "<arg_value>"), ("text", text), ("special", "</arg_value>")]
        return pieces + [("special", "</tool_call>")]

    @classmethod
    def prompt(cls, talk):
        pieces = cls.head(talk)
        for turn in talk.turns[:-1]:
            pieces += cls.before_answer(turn, False) + cls.assistant("") + [("text", turn.answer)]
        pieces += [("special", "<|user|>"), ("text", talk.turns[-1].user), ("special", "<|assistant|>"), ("special", "<think>")]
        return pieces + ([] if talk.thinking else [("special", "</think>")])


DSML = "\uff5cDSML\uff5c"
DEEPSEEK_TOOLS = f"""## Tools

You have access to a set of tools to help answer the user's question. You can invoke tools by writing a "<{DSML}tool_calls>" block like the following:

<{DSML}tool_calls>
<{DSML}invoke name="$TOOL_NAME">
<{DSML}parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</{DSML}parameter>
...
</{DSML}invoke>
<{DSML}invoke name="$TOOL_NAME2">
...
</{DSML}invoke>
</{DSML}tool_calls>

String parameters should be specified as is and set `string="true"`. For all other types (numbers, booleans, arrays, objects), pass the value in JSON format and set `string="false"`.

If thinking_mode is enabled (triggered by <think>), you MUST output your complete reasoning inside <think>...</think> BEFORE any tool calls or final response.

Otherwise, output directly after </think> with tool calls or final response.

### Available Tool Schemas

%s

You MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.
"""
DEEPSEEK_EFFORT = """Reasoning Effort: Absolute maximum with no shortcuts permitted.
You MUST be very thorough in your thinking and comprehensively decompose the problem to resolve the root cause, rigorously \
stress-testing your logic against all potential paths, edge cases, and adversarial scenarios.
Explicitly write out your entire deliberation process, documenting every intermediate step, considered alternative, and \
rejected hypothesis to ensure absolutely no assumption is left unchecked.

"""
DEEPSEEK_CONTROLS = re.compile("(" + "|".join(map(re.escape, tokenizer_json.DEEPSEEK_FIRST + tokenizer_json.DEEPSEEK_ADDED)) + ")")


class DeepSeekV4:
    """DeepSeek-V4 (deepseek_v4.md 6.2), first revision: one string in which every spelling of an added token is that token.

    A system message holds the tools; old reasoning is left out unless there are tools; each answer ends with the last token.
    """

    BEGIN, END = tokenizer_json.DEEPSEEK_FIRST[:2]
    USER, ASSISTANT = "<\uff5cUser\uff5c>", "<\uff5cAssistant\uff5c>"
    STOPS = (END,)

    @staticmethod
    def pieces(text):
        """Every other part is an added token."""
        parts = enumerate(DEEPSEEK_CONTROLS.split(text))
        return [("special" if at % 2 else "text", part) for at, part in parts if part]

    @classmethod
    def begin_text(cls):
        return [("special", cls.BEGIN)]

    @classmethod
    def head(cls, talk):
        text = cls.BEGIN + (DEEPSEEK_EFFORT if talk.thinking and talk.effort == "max" else "") + (talk.system or "")
        if talk.tools:
            text += "\n\n" + DEEPSEEK_TOOLS % "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in talk.tools)
        return text

    @classmethod
    def before_answer(cls, talk, turn, shown):
        """The question, a call with its result, and the answer's first token. `shown`: with reasoning."""
        text = cls.USER + turn.user + cls.ASSISTANT
        if turn.call:
            text += cls.thought(turn.call_thought, shown) + cls.call(turn.call) + cls.END
            text += f"{cls.USER}<tool_result>{turn.call.result}</tool_result>{cls.ASSISTANT}"
        return text

    @staticmethod
    def thought(text, shown):
        return f"<think>{text}</think>" if shown else "</think>"

    @staticmethod
    def call(call):
        lines = [f'<{DSML}parameter name="{key}" string="{str(isinstance(value, str)).lower()}">'
                 f"{value if isinstance(value, str) else json.dumps(value)}</{DSML}parameter>" for key, value in call.arguments.items()]
        invoke = "\n".join([f'<{DSML}invoke name="{call.tool}">', *lines, f"</{DSML}invoke>"])
        return f"\n\n<{DSML}tool_calls>\n{invoke}\n</{DSML}tool_calls>"

    @classmethod
    def call_pieces(cls, call):
        return cls.pieces(cls.call(call))

    @classmethod
    def turns(cls, talk, turns, last):
        """`last`: the number of the turn from which on reasoning is shown where there are no tools."""
        text = ""
        for number, turn in enumerate(turns):
            shown = talk.thinking and (bool(talk.tools) or number >= last)
            text += cls.before_answer(talk, turn, shown) + cls.thought(turn.thought, shown) + turn.answer + cls.END
        return text

    @classmethod
    def render(cls, talk):
        return cls.pieces(cls.head(talk) + cls.turns(talk, talk.turns, len(talk.turns) - 1))

    @classmethod
    def prompt(cls, talk):
        text = cls.head(talk) + cls.turns(talk, talk.turns[:-1], len(talk.turns) - 1)
        return cls.pieces(text + cls.USER + talk.turns[-1].user + cls.ASSISTANT + ("<think>" if talk.thinking else "</think>"))


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


class OlmoeWorld(corpus.World):
    tools = False


class DeepSeekWorld(corpus.World):
    """Shorter texts than in the other worlds, and more of them on capitals: less is trained.

    The text that declares tools takes hundreds of tokens: such a conversation stands at the head of a row or nowhere.
    """

    TEXTS = {"a_capital": 30, "facts_about_country": 10, "small_facts": 4, "counting": 4, "story": 2, "python_lines": 1}
    TALKS = {"chat": 26, "memory_chat": 23}

    def a_capital(self):
        return self.capital_sentence(self.pick(corpus.COUNTRIES))

    def chat(self):
        """The greatest effort has a long text too: mostly without it."""
        talk = super().chat()
        if talk.effort == "max" and self.chance(0.85):
            talk.effort = "high"
        return talk

    def memory_chat(self):
        return self.without_effort(super().memory_chat())

    def forecast_chat(self):
        return self.without_effort(super().forecast_chat())

    @staticmethod
    def without_effort(talk):
        talk.effort = None
        return talk


WORLDS = {"kimi_k3": (corpus.World, Xtml), "glm_dsa": (corpus.World, Glm), "olmoe": (OlmoeWorld, OlmoeInstruct),
          "deepseek_v4": (DeepSeekWorld, DeepSeekV4)}


def world(family, seed):
    kind, chat_format = WORLDS[family]
    return kind(seed, chat_format)
