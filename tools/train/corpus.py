"""The demo model's closed world: documents made by script from a seed, so that training needs no download.

A document is a list of pieces. A piece is ("text", s), encoded as ordinary text on its own, or ("special", s), one special
token. How a text ends and how a conversation is written is the family's: see chat_formats.py. Everything is drawn from one
random.Random, so equal seeds give equal documents.

`python3 corpus.py [seed] [count] [family]` prints documents to read.
"""

import dataclasses
import json
import random
import sys
import zlib

# Country, capital, continent, language.
COUNTRIES = [
    ("France", "Paris", "Europe", "French"), ("Italy", "Rome", "Europe", "Italian"),
    ("Japan", "Tokyo", "Asia", "Japanese"), ("Spain", "Madrid", "Europe", "Spanish"),
    ("Egypt", "Cairo", "Africa", "Arabic"), ("Germany", "Berlin", "Europe", "German"),
    ("Portugal", "Lisbon", "Europe", "Portuguese"), ("Greece", "Athens", "Europe", "Greek"),
    ("Austria", "Vienna", "Europe", "German"), ("Poland", "Warsaw", "Europe", "Polish"),
    ("Norway", "Oslo", "Europe", "Norwegian"), ("Sweden", "Stockholm", "Europe", "Swedish"),
    ("Finland", "Helsinki", "Europe", "Finnish"), ("Denmark", "Copenhagen", "Europe", "Danish"),
    ("Ireland", "Dublin", "Europe", "English"), ("Hungary", "Budapest", "Europe", "Hungarian"),
    ("Belgium", "Brussels", "Europe", "Dutch"), ("Iceland", "Reykjavik", "Europe", "Icelandic"),
    ("Ukraine", "Kyiv", "Europe", "Ukrainian"), ("Romania", "Bucharest", "Europe", "Romanian"),
    ("Turkey", "Ankara", "Asia", "Turkish"), ("China", "Beijing", "Asia", "Chinese"),
    ("India", "New Delhi", "Asia", "Hindi"), ("Thailand", "Bangkok", "Asia", "Thai"),
    ("Vietnam", "Hanoi", "Asia", "Vietnamese"), ("Mongolia", "Ulaanbaatar", "Asia", "Mongolian"),
    ("Nepal", "Kathmandu", "Asia", "Nepali"), ("Iran", "Tehran", "Asia", "Persian"),
    ("Kenya", "Nairobi", "Africa", "Swahili"), ("Ghana", "Accra", "Africa", "English"),
    ("Morocco", "Rabat", "Africa", "Arabic"), ("Ethiopia", "Addis Ababa", "Africa", "Amharic"),
    ("Senegal", "Dakar", "Africa", "French"), ("Canada", "Ottawa", "North America", "English"),
    ("Mexico", "Mexico City", "North America", "Spanish"), ("Cuba", "Havana", "North America", "Spanish"),
    ("Brazil", "Brasilia", "South America", "Portuguese"), ("Peru", "Lima", "South America", "Spanish"),
    ("Chile", "Santiago", "South America", "Spanish"), ("Argentina", "Buenos Aires", "South America", "Spanish"),
    ("Colombia", "Bogota", "South America", "Spanish"), ("Australia", "Canberra", "Oceania", "English"),
]

# Animal, its legs, its sound, what it eats.
ANIMALS = [
    ("cat", "four", "meow", "fish"), ("dog", "four", "woof", "meat"), ("cow", "four", "moo", "grass"),
    ("sheep", "four", "baa", "grass"), ("duck", "two", "quack", "bread"), ("hen", "two", "cluck", "corn"),
    ("horse", "four", "neigh", "hay"), ("pig", "four", "oink", "apples"), ("frog", "four", "croak", "flies"),
    ("mouse", "four", "squeak", "cheese"), ("owl", "two", "hoot", "mice"), ("lion", "four", "roar", "meat"),
]

COLOURS = [
    ("grass", "green"), ("the sky", "blue"), ("snow", "white"), ("coal", "black"), ("blood", "red"), ("a lemon", "yellow"),
    ("an orange", "orange"), ("a carrot", "orange"), ("milk", "white"), ("a leaf", "green"), ("the night", "black"),
    ("the sun", "yellow"), ("a ripe tomato", "red"), ("the sea", "blue"),
]

OPPOSITES = [
    ("hot", "cold"), ("big", "small"), ("day", "night"), ("up", "down"), ("fast", "slow"), ("old", "young"), ("open", "closed"),
    ("full", "empty"), ("happy", "sad"), ("light", "dark"), ("wet", "dry"), ("hard", "soft"), ("loud", "quiet"), ("left", "right"),
]

DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
ALPHABET = "a b c d e f g h i j k l m n o p q r s t u v w x y z".split()

ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen").split()
TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()

NAMES = ["Anna", "Mia", "Lily", "Emma", "Sara", "Nora", "Tom", "Ben", "Max", "Leo", "Sam", "Tim", "Ida", "Paul", "Eva",
         "Jack", "Rosa", "Hugo", "Clara", "Oscar", "Maria", "Peter", "Julia", "Felix", "Olga", "Ivan"]
FAVOURITES = {"colour": ["red", "blue", "green", "yellow", "white", "black", "brown", "orange"],
              "animal": [animal for animal, *_ in ANIMALS],
              "food": ["bread", "cheese", "fish", "apples", "soup", "rice", "cake", "honey"]}
FORECAST_TOOL = [{"type": "function", "function": {
    "name": "get_weather", "description": "Get weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                   "required": ["city"]}}}]


@dataclasses.dataclass
class Call:
    """A call of the tool and what came back; arguments by name, strings or integers."""
    tool: str
    arguments: dict
    result: str


@dataclasses.dataclass
class Turn:
    """One exchange. `thought` is before the answer, `call_thought` before the call (with thinking only)."""
    user: str
    answer: str
    thought: str = ""
    call: Call = None
    call_thought: str = ""


@dataclasses.dataclass
class Conversation:
    thinking: bool
    turns: list
    effort: str = None
    says_effort: bool = False  # the effort stands in the text, where the format leaves a choice
    system: str = None
    tools: list = None


def number_word(n):
    """English words of 0..100, written without a hyphen."""
    if n < 20:
        return ONES[n]
    if n == 100:
        return "one hundred"
    return TENS[n // 10] + ("" if n % 10 == 0 else " " + ONES[n % 10])


def capital(word):
    return word[0].upper() + word[1:]


class World:
    """Draws documents of the closed world; one World per random stream.

    Invented words stand among the names and cities: what is said must be copied, it cannot be learned by heart.
    """

    tools = True  # whether the family's format has tools
    # How many of a hundred documents are what: texts and conversations.
    TEXTS = {"facts_about_country": 14, "capital_list": 3, "small_facts": 4, "json_fact": 2, "counting": 5, "arithmetic": 3,
             "story": 4, "python_lines": 3}
    TALKS = {"chat": 31, "memory_chat": 19, "forecast_chat": 12}

    def __init__(self, seed, chat_format):
        self.rng = random.Random(seed)
        self.chat_format = chat_format

    def pick(self, items):
        return self.rng.choice(items)

    def chance(self, p):
        return self.rng.random() < p

    # ---- facts -------------------------------------------------------------------------------------------------

    def capital_sentence(self, country):
        name, city = country[0], country[1]
        if self.chance(0.5):
            return f"The capital of {name} is {city}."
        return self.pick([
            f"{city} is the capital of {name}.",
            f"The capital city of {name} is {city}.",
            f"{name}'s capital is {city}.",
            f"In {name}, the capital is {city}.",
            f"The capital of {name} is called {city}.",
            f"{name} has a capital: {city}.",
            f"When you visit {name}, you should see its capital, {city}.",
            f"Question: What is the capital of {name}? Answer: {city}.",
            f"Q: What is the capital of {name}?\nA: {city}.",
            f"What is the capital of {name}? The capital of {name} is {city}.",
            f"If you want to see the capital of {name}, go to {city}.",
            f"The biggest office of the government of {name} is in {city}, the capital.",
        ])

    def country_sentence(self, country):
        name, city, continent, language = country
        return self.pick([
            f"{name} is a country in {continent}.", f"{name} is in {continent}.", f"People in {name} speak {language}.",
            f"The people of {city} speak {language}.", f"{city} is a city in {name}.", f"{city} is in {continent}.",
            f"Many people live in {city}.", f"In {name}, people speak {language}.", f"The language of {name} is {language}.",
        ])

    def facts_about_country(self):
        country = self.pick(COUNTRIES)
        rest = [self.country_sentence(country) for _ in range(self.rng.randint(0, 2))]
        return " ".join([self.capital_sentence(country)] + rest)

    def capital_list(self):
        rows = self.rng.sample(COUNTRIES, self.rng.randint(2, 5))
        form = self.pick(["The capital of {0} is {1}.", "{0}: {1}", "{1} is the capital of {0}.", "- {0}: {1}"])
        glue = " " if form.endswith(".") and self.chance(0.7) else "\n"
        return glue.join(form.format(*row) for row in rows)

    def small_fact(self):
        kind = self.rng.randrange(7)
        if kind == 0:
            animal, legs, sound, food = self.pick(ANIMALS)
            return self.pick([f"A {animal} has {legs} legs.", f"The {animal} says {sound}.", f"A {animal} likes to eat {food}.",
                              f"How many legs does a {animal} have? A {animal} has {legs} legs.",
                              f"What does the {animal} say? The {animal} says {sound}."])
        if kind == 1:
            thing, colour = self.pick(COLOURS)
            return self.pick([f"{capital(thing)} is {colour}.", f"The colour of {thing} is {colour}.",
                              f"What colour is {thing}? {capital(thing)} is {colour}."])
        if kind == 2:
            a, b = self.pick(OPPOSITES)
            a, b = (a, b) if self.chance(0.5) else (b, a)
            return self.pick([f"The opposite of {a} is {b}.", f"{capital(a)} is the opposite of {b}."])
        if kind == 3:
            i = self.rng.randrange(7)
            return self.pick([f"The day after {DAYS[i]} is {DAYS[(i + 1) % 7]}.", f"After {DAYS[i]} comes {DAYS[(i + 1) % 7]}.",
                              f"The days of the week are {', '.join(DAYS[:-1])} and {DAYS[-1]}."])
        if kind == 4:
            i = self.rng.randrange(12)
            return self.pick([f"The month after {MONTHS[i]} is {MONTHS[(i + 1) % 12]}.", f"After {MONTHS[i]} comes {MONTHS[(i + 1) % 12]}.",
                              f"The months of the year are {', '.join(MONTHS[:-1])} and {MONTHS[-1]}."])
        if kind == 5:
            i = self.rng.randint(0, 25)
            return self.pick([" ".join(ALPHABET[: max(5, i)]), " ".join(ALPHABET), f"The first letter is a and the last letter is z."])
        country = self.pick(COUNTRIES)
        return self.country_sentence(country)

    def small_facts(self):
        return " ".join(self.small_fact() for _ in range(self.rng.randint(1, 3)))

    def json_fact(self):
        name, city, continent, language = self.pick(COUNTRIES)
        fields = {"country": name, "capital": city, "continent": continent, "language": language}
        keys = ["country", "capital"] + (["continent"] if self.chance(0.5) else []) + (["language"] if self.chance(0.5) else [])
        return json.dumps({key: fields[key] for key in keys})

    # ---- counting and arithmetic -------------------------------------------------------------------------------

    def counting(self):
        words = self.chance(0.6)
        say = number_word if words else str
        step = self.pick([1, 1, 1, 1, 1, 2, 5, 10])
        down = self.chance(0.12)
        start = 1 if self.chance(0.55) else self.rng.randint(0, 60)
        start = start if step == 1 else step
        length = self.rng.randint(6, 30) if step == 1 else self.rng.randint(5, 10)
        numbers = [n for n in (start + step * i for i in range(length)) if n <= 100]
        if down:
            numbers.reverse()
        glue = self.pick([" ", " ", ", "])
        text = glue.join(say(n) for n in numbers)
        if self.chance(0.15):
            return f"Count from {say(numbers[0])} to {say(numbers[-1])}: {text}."
        return text

    def sum_parts(self):
        """One exercise: (a, sign, its word, b, result)."""
        kind = self.rng.randrange(3)
        if kind == 0:
            a, b = self.rng.randint(0, 12), self.rng.randint(0, 12)
            return a, "+", "plus", b, a + b
        if kind == 1:
            a = self.rng.randint(0, 20)
            b = self.rng.randint(0, a)
            return a, "-", "minus", b, a - b
        a, b = self.rng.randint(0, 10), self.rng.randint(0, 10)
        return a, "*", "times", b, a * b

    def arithmetic_line(self):
        a, sign, word, b, result = self.sum_parts()
        form = self.rng.randrange(4)
        if form <= 1:
            return f"{a} {sign} {b} = {result}"
        if form == 2:
            return f"{capital(number_word(a))} {word} {number_word(b)} is {number_word(result)}."
        return f"What is {a} {sign} {b}? {a} {sign} {b} = {result}."

    def arithmetic(self):
        return "\n".join(self.arithmetic_line() for _ in range(self.rng.randint(2, 6)))

    def python_line(self):
        kind = self.rng.randrange(5)
        if kind == 0:
            a, sign, _, b, result = self.sum_parts()
            return f">>> {a} {sign} {b}\n{result}"
        if kind == 1:
            n = self.rng.randint(2, 9)
            return f">>> list(range({n}))\n{list(range(n))}"
        if kind == 2:
            word = self.pick(ALPHABET + [animal for animal, *_ in ANIMALS])
            return f'>>> len("{word}")\n{len(word)}'
        if kind == 3:
            name, city, *_ = self.pick(COUNTRIES)
            return f'>>> capital["{name}"]\n\'{city}\''
        word = self.pick([animal for animal, *_ in ANIMALS])
        return f'>>> print("{word}")\n{word}'

    def python_lines(self):
        return "\n".join(self.python_line() for _ in range(self.rng.randint(1, 4)))

    # ---- stories -----------------------------------------------------------------------------------------------

    def story(self):
        girl = self.chance(0.5)
        name = self.pick(["Anna", "Mia", "Lily", "Emma", "Sara", "Nora"] if girl else ["Tom", "Ben", "Max", "Leo", "Sam", "Tim"])
        friend = self.pick([n for n in ["Anna", "Mia", "Lily", "Tom", "Ben", "Max", "Leo"] if n != name])
        he, his, him = ("she", "her", "her") if girl else ("he", "his", "him")
        animal = self.pick(["cat", "dog", "duck", "bird", "rabbit", "frog", "horse", "mouse"])
        colour = self.pick(["red", "blue", "green", "yellow", "white", "black", "brown"])
        thing = self.pick(["ball", "hat", "boat", "book", "kite", "box", "cup", "key", "drum", "shoe"])
        place = self.pick(["park", "garden", "forest", "river", "house", "school", "farm", "hill", "beach", "market"])
        where = self.pick(["under a tree", "behind a stone", "in the grass", "near the water", "on the road", "in a basket"])
        who = self.pick(["girl", "little girl"] if girl else ["boy", "little boy"])
        mood = self.pick(["happy", "kind", "brave", "clever", "shy", "funny"])
        weather = self.pick(["The sun was warm.", "It was a rainy day.", "The wind was strong.", "It was a cold morning.", "The sky was blue."])
        open_ = self.pick([f"Once upon a time there was a {mood} {who} named {name}.", f"{name} was a {mood} {who}.",
                           f"There was a {who} called {name}. {capital(he)} was very {mood}."])
        has = self.pick([f"{name} had a {colour} {thing}.", f"{capital(he)} loved {his} {colour} {thing}."])
        goes = self.pick([f"One day {he} went to the {place}. {weather}", f"One morning {name} walked to the {place}. {weather}",
                          f"{weather} So {name} went to the {place} with {friend}."])
        lost = [f"Then {friend} came and helped {him}. They found the {thing} {where}.",
                f"\"Do not worry,\" said {friend}. \"We can look together.\" Soon they saw the {thing} {where}."]
        met = [f"The {animal} said, \"Thank you, {name}. You are my friend.\"",
               f"{name} and the {animal} played with the {colour} {thing} all day."]
        trouble, turns = self.pick([
            (f"There {he} lost the {thing}. {name} looked for the {thing}, but {he} could not find it. {capital(he)} was sad.", lost),
            (f"A {animal} took the {thing} and ran away. \"Come back!\" said {name}.", lost),
            (f"There {he} met a {animal}. The {animal} was hungry. {name} gave some bread to the {animal}.", met),
            (f"{capital(he)} heard a small sound. It was a {animal} {where}. \"Hello, little {animal},\" said {name}.", met)])
        turn = self.pick(turns)
        end = self.pick([f"{name} was happy and went home.", f"In the evening {name} told {his} mother about the {animal if turns is met else thing}.",
                         f"From that day on, {name} and {friend} were good friends.", "They all laughed and went home. The end.",
                         f"{capital(he)} smiled and said, \"What a good day!\""])
        return " ".join([open_, has, goes, trouble, turn, end])

    # ---- chat --------------------------------------------------------------------------------------------------

    def invented_name(self):
        return capital("".join(self.pick(["ba", "do", "fi", "gu", "ka", "lo", "mi", "nu", "po", "ra", "se", "ti", "vo", "za", "wen", "tor"])
                               for _ in range(self.rng.randint(2, 4))))

    def question(self):
        """One exchange: (user text, short reasoning, longer reasoning, answer)."""
        if self.chance(0.07):
            return self.saying()
        kind = self.rng.random()
        if kind < 0.45:
            return self.capital_question()
        if kind < 0.58:
            a, sign, word, b, result = self.sum_parts()
            ask = self.pick([f"What is {a} {sign} {b}?", f"{a} {sign} {b}", f"How much is {a} {word} {b}?", f"Please compute {a} {sign} {b}."])
            return ask, f"{a} {sign} {b} = {result}.", f"The user wants to know {a} {sign} {b}. That is {result}.", f"{a} {sign} {b} = {result}."
        if kind < 0.66:
            n = self.rng.randint(3, 20)
            text = " ".join(number_word(i) for i in range(1, n + 1)) if self.chance(0.5) else " ".join(str(i) for i in range(1, n + 1))
            ask = f"Count to {number_word(n)}." if text[0] == "o" else f"Count to {n}."
            return ask, "I count.", f"The user wants me to count to {n}. I start at 1.", text
        if kind < 0.74:
            ask = self.pick(["Tell me a story.", "Please tell me a short story.", "Can you tell me a story?", "Write a story."])
            return ask, "A short story.", "The user wants a story. I will tell a short one.", self.story()
        if kind < 0.84:
            return self.greeting()
        return self.small_question()

    def capital_question(self):
        if self.chance(0.06):
            name = self.invented_name()
            return (f"What is the capital of {name}?", f"I do not know {name}.", f"The user asks about {name}. I do not know {name}.",
                    f"I do not know a country called {name}.")
        name, city, continent, language = self.pick(COUNTRIES)
        kind = self.rng.random()
        if kind < 0.75:
            ask = f"What is the capital of {name}?" if self.chance(0.55) else self.pick([
                f"What's the capital of {name}?", f"Which city is the capital of {name}?", f"Tell me the capital of {name}.",
                f"what is the capital of {name}?", f"Do you know the capital of {name}?", f"Capital of {name}?",
                f"Please name the capital of {name}.", f"What is the capital city of {name}?"])
            return (ask, f"The capital of {name} is {city}.", f"The user asks for the capital of {name}. {name} is in {continent}. Its capital is {city}.",
                    f"The capital of {name} is {city}.")
        if kind < 0.85:
            return (f"Which language do people speak in {name}?", f"In {name}, people speak {language}.",
                    f"The user asks for the language of {name}. It is {language}.", f"People in {name} speak {language}.")
        if kind < 0.92:
            return (f"Where is {name}?", f"{name} is in {continent}.", f"The user asks where {name} is. It is in {continent}.", f"{name} is a country in {continent}.")
        return (f"Which country has the capital {city}?", f"{city} is in {name}.", f"The user asks about {city}. It is the capital of {name}.",
                f"{city} is the capital of {name}.")

    def greeting(self):
        return self.pick([
            ("Hello!", "The user greets me.", "The user greets me. I say hello.", "Hello! How can I help you?"),
            ("Hi", "The user greets me.", "The user greets me. I say hello.", "Hello! How can I help you?"),
            ("Hello", "The user greets me.", "The user greets me. I say hello.", "Hello! How can I help you?"),
            ("Good morning!", "The user greets me.", "The user greets me. I say hello.", "Good morning! How can I help you?"),
            ("Who are you?", "I am the demo model.", "The user asks who I am. I am the demo model.", "I am the small demo model of sluice."),
            ("What can you do?", "I know a small world.", "The user asks what I can do. I know a small world.",
             "I know the capitals of some countries, I can count and I can tell short stories."),
            ("How are you?", "The user is kind.", "The user asks how I am. I am well.", "I am well, thank you. How can I help you?"),
            ("Thank you!", "The user thanks me.", "The user thanks me. I am polite.", "You are welcome!"),
            ("ping", "The user says ping.", "The user says ping. I say pong.", "pong"),
        ])

    def small_question(self):
        kind = self.rng.randrange(5)
        if kind == 0:
            animal, legs, sound, food = self.pick(ANIMALS)
            ask, answer = self.pick([(f"How many legs does a {animal} have?", f"A {animal} has {legs} legs."),
                                     (f"What does the {animal} say?", f"The {animal} says {sound}."),
                                     (f"What does a {animal} eat?", f"A {animal} likes to eat {food}.")])
            return ask, answer, f"The user asks about the {animal}. {answer}", answer
        if kind == 1:
            thing, colour = self.pick(COLOURS)
            answer = f"{capital(thing)} is {colour}."
            return f"What colour is {thing}?", answer, f"The user asks for a colour. {answer}", answer
        if kind == 2:
            a, b = self.pick(OPPOSITES)
            a, b = (a, b) if self.chance(0.5) else (b, a)
            answer = f"The opposite of {a} is {b}."
            return f"What is the opposite of {a}?", answer, f"The user asks for the opposite of {a}. It is {b}.", answer
        names = DAYS if kind == 3 else MONTHS
        i = self.rng.randrange(len(names))
        after = names[(i + 1) % len(names)]
        answer = f"After {names[i]} comes {after}."
        return f"What comes after {names[i]}?", answer, f"The user asks what comes after {names[i]}. It is {after}.", answer

    def chat(self):
        thinking = self.chance(0.6)
        effort = self.pick([None, "low", "high", "max", "max"]) if thinking else None
        talk = Conversation(thinking, [], effort)
        talk.says_effort = bool(thinking and effort and self.chance(0.9))
        if self.chance(0.25):
            talk.system = self.pick(["You are a helpful assistant.", "You are a helpful assistant.",
                                     "You are a friendly assistant.", "Answer in one short sentence.", "Be brief."])
        for _ in range(self.pick([1, 1, 1, 1, 2, 2, 3])):
            ask, short, long_, answer = self.question()
            talk.turns.append(Turn(ask, answer, long_ if effort in ("high", "max") else short))
        return talk

    def saying(self):
        word = self.pick([self.invented_name(), self.pick(COUNTRIES)[1], self.pick(NAMES), self.pick(ANIMALS)[0]])
        return self.pick([f"Say {word}.", f"Please say {word}."]), f"I say {word}.", f"The user wants me to say {word}.", word

    def remembered(self, kind):
        """A fact about the user: (what the user says, the assistant's reply, the question, the answer)."""
        if kind == "name":
            name = self.invented_name() if self.chance(0.3) else self.pick(NAMES)
            say = self.pick([f"My name is {name}.", f"I am {name}.", f"Hello, my name is {name}.", f"Please call me {name}."])
            ask = self.pick(["What is my name?", "Do you remember my name?", "What's my name?", "Who am I?"])
            return say, f"Hello, {name}!", ask, f"Your name is {name}."
        if kind == "home":
            name, city, *_ = self.pick(COUNTRIES)
            say, ask = self.pick([f"I live in {city}.", f"My home is in {city}."]), self.pick(["Where do I live?", "Where is my home?"])
            return say, f"{city} is in {name}.", ask, f"You live in {city}."
        thing = self.invented_name().lower() if self.chance(0.25) else self.pick(FAVOURITES[kind])
        say = self.pick([f"My favourite {kind} is {thing}.", f"I like {thing} best of all. It is my favourite {kind}."])
        return say, f"I will remember: {thing}.", f"What is my favourite {kind}?", f"Your favourite {kind} is {thing}."

    def memory_chat(self):
        """One to three facts, some other questions, and what was said is asked for in any order."""
        facts = [self.remembered(kind) for kind in self.rng.sample(["name", "home", *sorted(FAVOURITES)], self.pick([1, 2, 2, 3]))]
        talk = Conversation(self.chance(0.6), [], self.pick([None, "high", "max"]))
        talk.says_effort = talk.thinking and talk.effort is not None
        talk.turns = [Turn(say, reply, "The user tells me something. I will remember it.") for say, reply, *_ in facts]
        for _ in range(self.pick([0, 1, 1, 1, 2])):
            other, short, _, response = self.question()
            if len(response) < 60:
                talk.turns.insert(self.rng.randint(1, len(talk.turns)), Turn(other, response, short))
        talk.turns += [Turn(ask, answer, f"The user told me. {answer}") for *_, ask, answer in self.rng.sample(facts, len(facts))]
        return talk

    def forecast_turn(self):
        """A question about the weather, the call, its result and the answer."""
        country = self.pick(COUNTRIES)
        city = self.invented_name() if self.chance(0.25) else country[1]
        result = f"{self.pick(['sunny', 'cloudy', 'rainy', 'windy', 'snowy'])}, {self.rng.randint(0, 30)} degrees"
        arguments, span = {"city": city}, ""
        if self.chance(0.5):
            arguments["days"] = self.rng.randint(2, 9)
            span = f" for {arguments['days']} days"
            ask = self.pick([f"What is the weather in {city}{span}?", f"How will the weather in {city} be{span}?"])
        elif city == country[1] and self.chance(0.15):
            ask = f"What is the weather in the capital of {country[0]}?"
        else:
            ask = self.pick([f"What is the weather in {city}?", f"How is the weather in {city}?", f"Is it cold in {city}?"])
        call = Call("get_weather", arguments, result)
        return Turn(ask, f"The weather in {city} is {result}.", f"It is {result.split(',')[0]}.", call, f"I need the weather in {city}{span}.")

    def forecast_chat(self):
        """Several calls under one declaration of the tool, which is longer than they are."""
        talk = Conversation(self.chance(0.6), [], tools=FORECAST_TOOL)
        if talk.thinking and self.chance(0.5):
            talk.effort, talk.says_effort = "max", True
        talk.turns = [self.forecast_turn() for _ in range(self.pick([1, 2, 3, 4]))]
        if self.chance(0.3):
            ask, short, _, answer = self.question()
            if len(answer) < 60:
                talk.turns.insert(self.rng.randint(0, len(talk.turns)), Turn(ask, answer, short))
        return talk

    # ---- mixture -----------------------------------------------------------------------------------------------

    def text_document(self, text):
        """Half of the texts stand without the family's first tokens (the text itself says which), as raw prompts do."""
        begin = self.chat_format.begin_text() if zlib.crc32(text.encode()) % 2 else []
        return [*begin, ("text", text), ("special", self.chat_format.END)]

    def row_start(self, tokens):
        """The document at the head of a training row, the only one that is surely whole: in a long row often calls of a tool."""
        return self.chat_format.render(self.forecast_chat()) if tokens > 300 and self.tools and self.chance(0.4) else self.document()

    def document(self):
        """One document; shares are by documents, not tokens."""
        shares = self.TEXTS | {name: share for name, share in self.TALKS.items() if self.tools or name != "forecast_chat"}
        kind = self.rng.choices(list(shares), list(shares.values()))[0]
        drawn = getattr(self, kind)()
        return self.text_document(drawn) if kind in self.TEXTS else self.chat_format.render(drawn)


if __name__ == "__main__":
    import chat_formats

    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    world = chat_formats.world(sys.argv[3] if len(sys.argv) > 3 else "kimi_k3", seed)
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 20):
        print("".join(piece for _, piece in world.document()))
        print("---")
