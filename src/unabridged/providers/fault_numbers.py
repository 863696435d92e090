"""The numbers of a refusal, and what each one is: limit, actual, excess (pure).

Numbers are bound by the words around them, in any order, then checked by magnitude: what overflowed
is more than what is allowed. Digits of model names, ids, dates, versions, addresses and status codes
are no quantities.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Measured", "Number", "find_numbers", "measure"]

NumberUnit = Literal["tokens", "chars", "bytes", "inputs", "tokens/min", "requests/min", "other", ""]

_AFTER: tuple[tuple[NumberUnit, str], ...] = (
    ("tokens/min", r"tpm|tokens?\s*(?:per|/|a|pro|je|por)\s*min\w*|jetons par minute|токен\w* в минуту|(?:token|トークン|토큰)s? ?(?:/|每) ?(?:分|分钟|분)"),
    ("requests/min", r"rpm|(?:api )?(?:requests?|calls?|queries)\s*(?:per|/|a)\s*min\w*|(?:anfragen|requetes|solicitudes|peticiones|requisicoes|solicitacoes|richieste)\s(?:pro|je|par|por|al)\sminut\w*|"
     r"запрос\w* в минуту|(?:次|回|리?퀘?스?트?요청|リクエスト) ?(?:/|每) ?(?:分|分钟|분)"),
    (
        "other",
        r"(?:ms|s|secs?|seconds?|mins?|minutes?|hours?|hrs?|h|days?|weeks?|months?|times|retries|attempts|dimensions?|dims?|"
        r"'?max_(?:new_|output_|completion_)?tokens|gpus?|workers?|%|percent|usd|\$|neurons|credits?|words|pages|rps|qps|rpd|tpd|秒|分钟|分|小时|天|初|초|분|sekunden?|segundos?|secondes?|секунд|минут)"
        r"(?![a-z])|(?:requests?|calls?|queries)\s*(?:per|/|a)\s*\w+",
    ),
    ("tokens", r"tok(?:en)?s?\b|token|トークン|토큰|令牌|词元|标记|токен|jeton|gettoni|टोकन|โทเคน|โทเค็น|رمز|توكن"),
    ("bytes", r"bytes?\b|字节|位元組|字節|バイト|바이트|octet|байт"),
    ("chars", r"char(?:acter)?s?\b|code ?points|字符|字元|文字|글자|자(?:를|로|까지|\b)|字(?![节節])|zeichen|caract|символ|знак|karakter|znak"),
    (
        "inputs",
        r"(?:inputs?|texts?|items?|instances?(?:\(s\))?|documents?|elements?|strings?|sentences?|passages?|queries|chunks?|"
        r"embeddings?|requests?|entries|records?|rows?|contents|prompts|messages)\b|[条條件個]|个|개|항목|건|eingaben|texte\b|elemente|"
        r"eintrage|entrees|textes|textos|elementos|entradas|itens|текст|элемент|вход|строк|документ|testi|elementi",
    ),
)
_AFTER_UNIT = re.compile(
    r"[\s)\]'*-]{0,3}(?:(?:inputs?|prompt|total|maximum|max|enqueued|allowed|text|api|utf-8|unicode|of)'?\s+|[个個の]\s?){0,2}(?:"
    + "|".join(f"(?P<u{at}>{pattern})" for at, (_, pattern) in enumerate(_AFTER))
    + ")"
)
_BEFORE: tuple[tuple[NumberUnit, str], ...] = (
    ("tokens/min", r"tpm|tokens? per min"),
    ("requests/min", r"rpm|requests? per min"),
    ("tokens", r"token|トークン|토큰|令牌|词元|токен|jeton|gettoni|n_ctx|context|上下文"),
    ("chars", r"character|\bchars?\b|maxlength|字符|字元|文字数|글자|zeichen|caracteres|символ|string"),
    ("bytes", r"\bbytes?\b|字节|バイト|바이트|octets|байт"),
    ("inputs", r"(?<!physical )(?<!current )(?<!configured )(?<!per )batch ?_?size|number of (?:inputs|texts|items|documents)|array|\blist\b|items|instances|条数|数组|批"),
)
_BEFORE_UNIT = re.compile("|".join(f"(?P<u{at}>{pattern})" for at, (_, pattern) in enumerate(_BEFORE)))

_RANGE_DASH = re.compile(r"(?<![\w.\-])(\d{1,2}) ?[-~] ?(\d{2,})(?![\w\-])")
_SPACED = re.compile(
    r"(?<![\w.,])(?!(?:4\d\d|5\d\d) (?!000))\d{1,3}(?: \d{3})+(?=\s?(?:jetons?|caracteres|octets|tokens?\b|token[ow]|токен|символ|байт|знак|zeichen|znak|bytes))"
)
_SLASH = re.compile(r"(?<![\w/.\-])(\d{2,9}) ?/ ?(\d{2,9})(?![\w/.\-])")
_ONE = re.compile(r"\b(?:an? single|only one|just one|one) (?=(?:input|text|document|string|item|instance)s? (?:per|in|at)\b)")
_NUMBER = re.compile(
    r"(?<![a-z0-9_@])(?<!\d[.:/\-])(?<![a-z)\]][.\-/])"
    r"(?P<digits>\d{1,3}(?:[,.]\d{3})+(?![\d])|\d{1,15})(?P<part>\.\d{1,9})?"
    r"(?:\s?(?P<scale>(?:ki?b|mi?b|gi?b|[кмг]б|[km])(?![a-z0-9а-я])|[万萬千만]))?"
    r"(?!\d|[.:/\-]\d|(?!tok|char|byte|item|input|text|s\b|ms\b|rpm|tpm)[a-z_])"
)
_SCALES = {
    "k": 1000, "m": 1_000_000, "万": 10_000, "萬": 10_000, "千": 1000, "만": 10_000,
    "kb": 1024, "kib": 1024, "mb": 1024**2, "mib": 1024**2, "gb": 1024**3, "gib": 1024**3,
    "кб": 1024, "мб": 1024**2, "гб": 1024**3,
}  # fmt: skip
_NO_QUANTITY = re.compile(
    r"(?:code|errno|errcode|error|status|http|错误码|状态码|port|pid|line|column|version|attempt|task(?: id)?|slot|gpu|rank|cuda|device|"
    r"request id|dimension|dimensions|temperature|tier|step|worker|node|shard|layer|axis|index|indices|indexes|position|positions|row|id|no\.|id ?:|exit|ret|"
    r"matryoshka_dim|dim|retries|attempts|retry)\W{0,3}$"
    r"|(?:[第]|index-select invalid index )$"
)
_HTTP_WORDS = re.compile(r"\W{0,3}(?:client error|server error|bad request|too many|payload|request|unauthor|forbidden|not found|invalid|internal)")

_STRONG_LIMIT = re.compile(
    r"max\w*|limit\w*|at most|up to|no more than|(?:less|fewer|smaller|lower) than|exceed\w*|\bonly|allow\w*|support\w*|\bcap\b|capped|threshold|"
    r"<=?|≤|>=?|(?:longer|larger|greater|bigger|more|higher|shorter) than|\bover\b|above|beyond|permitted|n_ctx\w*|context (?:length|size|window)|dim size|"
    r"existing size|tensor b|current batch size|accepts?|capacity|(?:can|may|must|not|cannot|should) (?:hold|take|contain|have|handle|process|be)|window(?: of| is)?|largest|ceiling|configured|available|is not in \[0,|not to be|upper bound|"
    r"(?:最多|最大|至多|不能|只能|可)(?:支持|包含|输入|传入|发送|处理|提交)+|不超过|不得|不能|最大|最多|上限|限制|超过|超出|大于|至多|支持|最长|以内|允许|超過|限度|最長|制限|まで|許容|최대|제한|한도|상한|허용|초과|"
    r"hochst\w*|maximal\w*|obergrenze|weniger als|kleiner (?:als|oder gleich)|erlaubt\w*|zulassig\w*|grenze|limite\w*|au plus|moins de|inferieur|autoris\w*|superieur|plus de|permi\w*|mas de|mayor|menos de|menor|inferior|no maximo|"
    r"acima|максим\w*|лимит\w*|предел\w*|не более|превыш\w*|допуст\w*|разреш\w*|больше|меньше|огранич\w*|massim\w*|supera\w*|en fazla|azami"
)
_STRONG_ACTUAL = re.compile(
    r"\bgiven|\bgot\b|receiv\w*|requested|actual\w*|\bfound\b|provided|\bsent\b|submitted|supplied|resulted|at least|currently|\bcurrent:|\bcurrent is|"
    r"tensor a\b|expanded size|passed|contain\w*|\bhad\b|\bhas\b|\bhave\b|but (?:was|is|the)|your \w+ (?:is|was)|\bwas\b|were|"
    r"value of|当前|实际|传入|收到|输入了|包含|请求了|提交|実際|現在|受信|指定|送信|入力され|현재|요청|실제|받은|전달|입력된|erhalten|enthalt|angefordert|ubergeben|"
    r"gesendet|tatsachlich|\bhat\b|aktuell|gezahlt|recu\w*|fourni\w*|contient|envoy\w*|demand\w*|compte|recib\w*|enviad\w*|contiene|solicitad\w*|"
    r"tiene|proporcion\w*|recebid\w*|foram|contem|\btem\b|fornecid\w*|получ\w*|передан\w*|содерж\w*|запрошен\w*|фактич\w*|составля\w*|отправл\w*|ricevut\w*|fornit\w*"
)
_WEAK_ACTUAL = re.compile(
    r"length|count|size|number|tokens?|too (?:long|large|many|big)|input|prompt|batch|requested?|you |about|长度|共|为|过长|太长|長すぎ|길이|lange|longueur|"
    r"longitud|comprimento|длин\w*|zu lang|trop long\w*|demasiad\w*|slishkom|слишком \w+"
)
_RIGHT_LIMIT = re.compile(
    r"max\w*|limit\w*|allow\w*|at most|or (?:fewer|less)|per request|is the|supported|permitted|を超|を上回|[을를이] ?(?:초과|넘)|以内|以下|未満|까지|이하|이내|"
    r"erlaubt|zulassig|zugelassen|autoris|maxim|permitid|como max|no max|максим|допуст|разреш|上限|までです|consentit"
)
_AFTER_ALL = frozenset(("以内", "以下", "未満", "까지", "이하", "이내", "を超", "を上回"))
_RIGHT_ACTUAL = re.compile(
    r"\bgiven|exceed\w*|(?:is|are|was|were) (?:too|longer|larger|greater|more|over|given|sent|received|provided|requested|above)|in (?:the|your) "
    r"(?:prompt|input|messages?|request)|>|が(?:指定|送信|入力)|longer than|too (?:long|large)|received|provided|requested|submitted|ist zu|"
    r"ubers\w*|depass\w*|exced\w*|super[ao]\w*|превыш\w*|超过|超出|大于|过长|太长|は上限|は最大|は制限|recu|recibid|enviad|получен|передан|送信|指定|요청|받|입력되|erhalten|"
    r"ubergeben|wurden|input tokens|es demasiado|es muy|e muito|est trop|слишком"
)
_LEFT_EXCESS = re.compile(
    r"\bby(?: (?:about|around|approximately|roughly))?\s*$|\bum (?:etwa |ca\. )?$|(?:depass\w*|exced\w*|super\w*|trop long\w*|trop grand\w*) de $|"
    r"(?:exced\w*|super\w*|ultrapass\w*)(?: \w+){0,4} (?:en|em|por) $|превы\w*(?: \w+){0,4} на $|多(?:了|出) ?$|superat\w*(?: \w+){0,3} di $"
)
_RIGHT_EXCESS = re.compile(r"(?:tokens?|char\w*|bytes?|inputs?|items?|texts?|token|zeichen|jetons|токен\w*|символ\w*|トークン|文字)?\s*(?:over\b|too (?:many|long|much)|above (?:the )?(?:max|limit)|more than (?:the )?(?:max|limit|allow)|zu viel|zu lang|de trop|a mais|лишн|超過|オーバー)")
_CUT = re.compile(r"[,;:(){}\[\]。、；，]|\. ")
_RANGE = re.compile(
    r"\[\s?\x00\s?[,;-]\s?\x00\s?(?P<open>[\])])"
    r"|(?:between|range|from|范围|範圍|長さ|범위|zwischen|entre|от|tra)[^\x00]{0,40}\x00[^\x00]{0,14}?(?:\bto\b|\band\b|至|到|から|bis|und|\bet\b|\bet\b|\ba\b|\by\b|\be\b|до|と|,|-)[^\x00]{0,4}\x00(?P<tail>.{0,14})"
)


@dataclass(slots=True)
class Number:
    """One quantity: its value, where it stands, its unit if the words say, and how well it fits each role."""

    value: int
    start: int
    end: int
    unit: NumberUnit = ""
    as_limit: float = 0.0
    as_actual: float = 0.0
    as_excess: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What the numbers of a refusal say."""

    limit: int | None = None
    actual: int | None = None
    excess: int | None = None
    unit: NumberUnit = ""
    numbers: Sequence[Number] = field(default=())


def find_numbers(text: str, *, status: int | None = None) -> list[Number]:
    """Every quantity in a normal text, with its unit and its roles, at most 24.

    >>> [(n.value, n.unit) for n in find_numbers("max 8k tokens for bge-m3, got 10,382 (error 400)")]
    [(8000, 'tokens'), (10382, 'tokens')]
    """
    text = _SPACED.sub(_close_up, text)
    numbers: list[Number] = []
    for found in _NUMBER.finditer(text):
        number = _read(found, text, status)
        if number is not None:
            numbers.append(number)
        if len(numbers) == 24:
            break
    _bind(numbers, text)
    _bind_ranges(numbers, text)
    return numbers


def prepare(text: str) -> str:
    """Write pairs so that both are read: ``1-8192`` is ``1 to 8192``, ``600/512`` is ``600 of 512``."""
    text = _ONE.sub("1 ", text)
    return _SLASH.sub(r"\1 of \2", _RANGE_DASH.sub(r"\1 to \2", text))


def _close_up(found: re.Match[str]) -> str:
    """``8 192 токенов`` is one number (but ``400 250 items`` is two)."""
    return found[0].replace(" ", ",")


def _read(found: re.Match[str], text: str, status: int | None) -> Number | None:
    digits, part, scale = found["digits"], found["part"] or "", found["scale"] or ""
    value = float(re.sub(r"[,.]", "", digits) + (part if scale else ""))
    if part.strip(".0") and not scale:
        return None
    value *= _SCALES.get(scale, 1)
    left, right = text[max(0, found.start() - 32) : found.start()], text[found.end() : found.end() + 48]
    unit: NumberUnit = "bytes" if scale.endswith(("b", "б")) else _unit_after(right)
    if _NO_QUANTITY.search(left) and unit in ("", "other"):
        return None
    if 400 <= value < 600 and _HTTP_WORDS.match(right) and not left.rstrip().endswith(("of", "is", "than")):
        return None
    if value == status and re.match(r"\s?[:\-]", right):
        return None
    if 400 <= value < 600 and unit == "" and (value == status or not left.strip(" '\"(")) and _looks_like_status(left, right):
        return None
    if unit == "other" or value < 1:
        return None
    return Number(int(value), found.start(), found.end(), unit)


def _looks_like_status(left: str, right: str) -> bool:
    """A bare three-digit number at the start, in brackets, or before the phrase that names it."""
    return not left.strip(" '\"") or bool(_HTTP_WORDS.match(right)) or bool(re.search(r"(?:error|api|http|status|code)\W*\(?\W*$", left))


def _unit_after(right: str) -> NumberUnit:
    found = _AFTER_UNIT.match(right)
    return _AFTER[int(str(found.lastgroup)[1:])][0] if found else ""


def _unit_before(left: str) -> NumberUnit:
    last = None
    for last in _BEFORE_UNIT.finditer(left):
        pass
    return _BEFORE[int(str(last.lastgroup)[1:])][0] if last else ""


def _bind(numbers: list[Number], text: str) -> None:
    """Give each number its scores from the words between it and its neighbours."""
    for at, number in enumerate(numbers):
        before = numbers[at - 1].end if at else 0
        after = numbers[at + 1].start if at + 1 < len(numbers) else len(text)
        left = text[max(before, number.start - 80) : number.start]
        right = text[number.end : min(after, number.end + 48)]
        number.unit = number.unit or _unit_before(left)
        _score(number, _last_sentence(left), _reach(right))


def _last_sentence(left: str) -> str:
    cut = max(left.rfind(". "), left.rfind("。"), left.rfind("; "))
    rest = left[cut + 1 :] if cut >= 0 else left
    return rest if any(letter.isalpha() for letter in rest) else left


def _reach(right: str) -> str:
    """What still belongs to a number on its right: to the next comma, bracket or sentence."""
    right = right.lstrip(" )]'")
    cut = _CUT.search(right)
    return right[: cut.start()] if cut else right


def _score(number: Number, left: str, right: str) -> None:
    limit, actual = _last_end(_STRONG_LIMIT, left), _last_end(_STRONG_ACTUAL, left)
    if limit >= 0 or actual >= 0:
        if limit >= actual:
            number.as_limit = 3.0
        else:
            number.as_actual = 3.0
    elif _WEAK_ACTUAL.search(left):
        number.as_actual = 1.0
    right_limit, right_actual = _RIGHT_LIMIT.search(right), _RIGHT_ACTUAL.search(right)
    if right_actual and (not right_limit or right_actual.start() <= right_limit.start()):
        number.as_actual = max(number.as_actual, 2.5)
    elif right_limit:
        number.as_limit = max(number.as_limit, 3.5 if right_limit[0] in _AFTER_ALL else 2.5)
    if _LEFT_EXCESS.search(left) or _RIGHT_EXCESS.match(right):
        number.as_excess = 4.0


def _last_end(pattern: re.Pattern[str], text: str) -> int:
    end = -1
    for found in pattern.finditer(text):
        end = found.end()
    return end


def _bind_ranges(numbers: list[Number], text: str) -> None:
    """``[1, 8192]``, ``from 1 (inclusive) to 251 (exclusive)``: the upper end is the limit."""
    skeleton, places = _skeleton(numbers, text)
    for found in _RANGE.finditer(skeleton):
        ends = [at for at, place in enumerate(places) if found.start() <= place < found.end()]
        if len(ends) < 2 or numbers[ends[0]].value > numbers[ends[1]].value:
            continue
        low, high = numbers[ends[0]], numbers[ends[1]]
        low.as_limit = low.as_actual = -10.0
        high.as_limit, high.as_actual = 4.0, 0.0
        if "exclusive" in (found["tail"] or "") or found["open"] == ")":
            high.value -= 1
            high.unit = high.unit or "other"


def _skeleton(numbers: list[Number], text: str) -> tuple[str, list[int]]:
    """The text with each number as one NUL, and where those stand."""
    parts: list[str] = []
    places: list[int] = []
    at = length = 0
    for number in numbers:
        parts += [text[at : number.start], "\0"]
        length += number.start - at + 1
        places.append(length - 1)
        at = number.end
    return "".join([*parts, text[at:]]), places


def measure(numbers: Sequence[Number], *, ordered: bool = True, least: float = 0.9) -> Measured:
    """Choose limit, actual and excess among numbers, by their words and by magnitude.

    ``ordered`` asks that the actual be no less than the limit: true of every overflow, not of rates.
    """
    excess = max((n for n in numbers if n.as_excess), key=lambda n: n.as_excess, default=None)
    rest = _merge([n for n in numbers if n is not excess])
    best: tuple[float, Number | None, Number | None] = (least, None, None)
    for number in rest:
        best = _better(best, (number.as_limit, number, None), (number.as_actual, None, number))
    for limit, actual in permutations(rest, 2):
        right_order = actual.value >= limit.value
        if right_order or not ordered:
            same = 0.5 if limit.unit == actual.unit or not (limit.unit and actual.unit) else -2.0
            # Two numbers and no third: what they are to each other says more than the words.
            order = 0.0 if not ordered else 3.1 if len(rest) == 2 else 0.6
            score = limit.as_limit + actual.as_actual + order + same
            best = _better(best, (score, limit, actual))
    _, limit_number, actual_number = best
    unit = next((n.unit for n in (limit_number, actual_number, excess) if n and n.unit not in ("", "other")), "")
    return Measured(
        limit_number.value if limit_number else None,
        actual_number.value if actual_number else None,
        excess.value if excess else None,
        unit,
        numbers,
    )


def _better(
    best: tuple[float, Number | None, Number | None], *others: tuple[float, Number | None, Number | None]
) -> tuple[float, Number | None, Number | None]:
    return max([best, *others], key=lambda option: (option[0], option[2].value if option[2] else 0))


def _merge(numbers: Sequence[Number]) -> list[Number]:
    """The same value said twice is one number, with the better of its scores."""
    merged: dict[int, Number] = {}
    for number in numbers:
        known = merged.get(number.value)
        if known is None:
            merged[number.value] = Number(
                number.value, number.start, number.end, number.unit, number.as_limit, number.as_actual
            )
        else:
            known.as_limit = max(known.as_limit, number.as_limit)
            known.as_actual = max(known.as_actual, number.as_actual)
            known.unit = known.unit or number.unit
    return list(merged.values())
