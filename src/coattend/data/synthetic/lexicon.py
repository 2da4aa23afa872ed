"""The words of the simulated world: people, things and events, and the values of facts about them."""

from typing import NamedTuple


class Value(NamedTuple):
    """The value of a fact.

    Attributes:
        text: Its wording in passages, with its preposition: ``in the kitchen``.
        phrase: The same without the preposition: ``the kitchen``.
        meaning: A paraphrase without the words of the first: ``where meals are cooked``; None if there is none.
    """

    text: str
    phrase: str
    meaning: str | None


def _words(text: str, form: str = "{}") -> tuple[str, ...]:
    return tuple(form.format(word) for word in text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(" ".join(text.split()).split(" / "))


def _values(text: str) -> tuple[Value, ...]:
    """Parse ``preposition|phrase = meaning; ...``; preposition and meaning may be missing."""
    values = []
    for entry in " ".join(text.split()).split("; "):
        wording, _, meaning = entry.partition(" = ")
        values.append(Value(wording.replace("|", " "), wording.split("|")[-1], meaning or None))
    return tuple(values)


PEOPLE = _words(
    """Adam Amy Anna Bella Ben Brian Carl Cathy Clara Daniel David Diana Ella Emma Eric Felix Fiona Frank George Gina
    Grace Helen Henry Hugo Irene Iris Ivan Jack James Julia Karen Kate Kevin Leo Linda Luke Maria Martin Mary Neil
    Nick Nora Olivia Oscar Paul Paula Peter Rachel Robert Rosa Sam Sarah Simon Tina Tom Tony Vera Victor Wendy
    William"""
)
_OBJECTS = _values(
    """album = a place for photographs; anchor = a weight that holds a ship; apron = protection while cooking; basket =
    something to carry shopping in; bicycle = a vehicle with two wheels; blanket = a warm cover for the night; broom
    = something to sweep with; camera = a machine that takes pictures; candle = a light made of wax; carpet = a
    covering for the floor; clock = a thing that shows the time; compass = a needle that points north; cradle = a bed
    for a baby; crown = a ring of gold for a king; dictionary = a book that explains words; drum = something to beat
    with sticks; envelope = a paper cover for a letter; flute = an instrument to blow into; globe = a round model of
    the earth; guitar = an instrument with six strings; hammer = a tool for nails; helmet = protection for the head;
    iron = a hot tool for shirts; kettle = a pot that boils water; kite = a toy for windy days; ladder = something to
    climb up; lamp = a source of electric light; map = a plan of roads and towns; medal = a prize for bravery; mirror
    = a glass to see oneself in; necklace = jewellery; notebook = pages to write on; oven = a machine for baking;
    passport = a document for crossing borders; pillow = a soft rest for the head; printer = a machine that puts ink
    on paper; pump = a device for flat tyres; puzzle = a picture in many pieces; radio = a box that plays the news;
    razor = a blade for shaving; rope = something to tie knots in; saw = a tool with teeth; scarf = a woollen cloth
    for the neck; shovel = a tool for digging; stove = a heater for the room; suitcase = luggage; sword = an old
    weapon; telescope = an instrument for looking at planets; tent = a shelter of cloth; thermometer = an instrument
    that measures heat; towel = a cloth for drying; toothbrush = a thing for cleaning teeth; trumpet = an instrument
    of brass; typewriter = an old machine with keys; umbrella = protection from the rain; vase = a glass for roses;
    violin = an instrument with a bow; wallet = something to keep coins in; whistle = a thing that referees blow; wig
    = false hair"""
)
THINGS = tuple(f"the {value.text}" for value in _OBJECTS)
EVENTS = _words(
    """auction concert debate dinner exam exhibition festival interview lecture lesson match meeting parade party picnic
    race rehearsal reunion sale seminar tour trial wedding workshop""",
    "the {}",
)
PLACES = _values(
    """in|the attic = right under the roof; in|the barn = with the hay and the tractor; in|the bathroom = where people
    wash; in|the bedroom = where somebody sleeps; in|the cellar = below the ground floor; in|the garage = where cars
    are parked; in|the garden = among the flowers; in|the kitchen = where meals are cooked; in|the library = where
    books are lent; in|the park = among trees and lawns; on|the balcony = outside on an upper floor; at|the airport =
    where planes land; at|the bakery = where bread is sold; at|the bank = where money is kept; at|the castle = where
    kings once lived; at|the church = where people pray; at|the cinema = where films are shown; at|the harbour = with
    the ships; at|the hospital = where the sick are treated; at|the hotel = where travellers stay; at|the museum =
    with old works of art; at|the office = where somebody sits at a desk; at|the pharmacy = where medicine is sold;
    at|the pool = where people swim; at|the restaurant = where waiters bring food; at|the school = where children are
    taught; at|the stadium = where football is played; at|the station = where trains stop; at|the theatre = where
    actors appear on stage; at|the zoo = with wild animals"""
)
TIMES = _values(
    """at|noon; at|midnight; at|dawn; on|Christmas Eve; on|New Year's Day; in|the summer; in|the winter; on|Monday;
    on|Tuesday; on|Wednesday; on|Thursday; on|Friday; on|Saturday; on|Sunday; in|March; in|May; in|July; in|October;
    at|three o'clock; at|half past seven; at|a quarter to nine; at|ten o'clock; at|five past six; at|twenty to two"""
)
JOBS = _values(
    """a baker = makes bread; a bus driver = carries passengers; a butcher = sells meat; a carpenter = builds things of
    wood; a chemist = does experiments; a cook = prepares food; a dentist = takes care of teeth; a detective = solves
    crimes; a farmer = keeps cows and pigs; a fisherman = goes out to sea with a net; a gardener = plants flowers; a
    hairdresser = cuts hair; a journalist = writes for a newspaper; a judge = sends criminals to prison; a lawyer =
    defends people in court; a librarian = lends books; a mechanic = repairs engines; a miner = digs for coal; a
    nurse = looks after patients; a painter = makes pictures; a pilot = flies planes; a plumber = mends pipes; a
    postman = delivers letters; a singer = performs songs; a soldier = serves in the army; a tailor = sews clothes; a
    teacher = gives lessons to children; a vet = cures sick animals; a waiter = brings people their meals; an actor =
    appears in films"""
)
PLANS = _values(
    """adopt a dog = have a pet; borrow money = get a loan; build a wall = work with bricks; buy a boat = go sailing;
    climb a mountain = reach a summit; cut down the tree = use an axe; get married = have a wedding; go camping =
    sleep in a tent; go fishing = sit by the river with a rod; grow tomatoes = raise vegetables; join the army =
    become a soldier; keep bees = make honey; learn the piano = take music lessons; learn to drive = get behind the
    wheel; lose weight = eat less; move to Canada = live abroad; open a cafe = serve coffee and cakes; paint the
    fence = give some boards a new colour; repair the roof = keep the rain out; retire early = stop working; run a
    marathon = take part in a long race; sell the house = get rid of a home; stop smoking = give up cigarettes; study
    law = become a lawyer; study the stars = be an astronomer; take up chess = play a board game; visit Japan =
    travel to Asia; write a novel = become an author"""
)
PURCHASES = tuple(
    Value(text, text, meaning)
    for noun, _, meaning in _OBJECTS
    for text in (f"an {noun}" if noun[0] in "aeiou" else f"a {noun}",)
)
OWNERS = tuple(Value(person, person, None) for person in PEOPLE)

OPENINGS = _phrases(
    """Good morning. / Have you heard the news? / Let me tell you what is new. / There is so much going on. / Listen
    to this. / Hello again. / I talked to the others today. / What a day this was."""
)
REPLIES = _phrases(
    """Really? / I see. / Good to know. / Thank you for telling me. / Are you sure? / I had no idea. / All right. /
    That is interesting. / I did not expect that. / You must be joking."""
)
# Half of all statements have no hedge.
HEDGES = ("", "", "", "", "", "as far as I know, ", "by the way, ", "they say that ", "I heard that ", "it seems that ")
SCENES = _phrases(
    """It was a busy week in the village. / Everybody in the street had something to tell. / The neighbours had a lot
    to talk about. / This is what the letter said. / Here is the news of the town. / Many things happened in those
    days. / Nobody could remember a month like that. / The old man knew everything."""
)
