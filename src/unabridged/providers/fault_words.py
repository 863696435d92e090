"""What providers call things, in a dozen languages: the lexicon behind :mod:`~unabridged.providers.faults`.

Patterns are matched against :func:`normal` text: NFKC, casefolded, Latin accents stripped, URLs gone.
Each is a flat alternation with bounded gaps, so matching is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = [
    "AUTH",
    "BAD_SHAPE",
    "BAD_VALUES",
    "BATCH_WORDS",
    "CODES",
    "CONTEXT",
    "COUNTED",
    "DIMENSIONS",
    "EMPTY",
    "HEAD",
    "LENGTH_SHAPES",
    "MODEL_MISSING",
    "NOT_TEXT",
    "ONE_INPUT",
    "OUTPUT",
    "OVERLOADED",
    "QUOTA",
    "QUOTA_HARD",
    "RATE",
    "SIZED",
    "SUBJECT",
    "SUBJECT_IF_SIZED",
    "TIMEOUT",
    "TOO_MUCH",
    "UPSTREAM",
    "WHOLE_REQUEST",
    "normal",
    "spell_out",
]

_URL = re.compile(r"\b(?:https?|wss?)://[^\s\"'<>)\]}]*")
_GROUPED = re.compile(r"(?<=\d)[\u00a0\u2009\u202f\u066c'’](?=\d{3}(?!\d))")
_SPACE = re.compile(r"\s+")
_CLASSES = re.compile(r"\b[A-Z][A-Za-z]{4,60}(?:Exception|Error|Exceeded|Fault)\b")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_QUOTES = {ord(mark): "'" for mark in "`´‘’‚‛“”„‟«»「」『』\""}
_DASHES = {ord(mark): "-" for mark in "‐‑‒–—−"}


def _accents() -> dict[int, str]:
    """Latin letters without their accents; Hangul, kana and Cyrillic й stay whole."""
    plain = {0x451: "е", 0x141: "l", 0x142: "l", 0xF8: "o", 0x111: "d", 0x131: "i", 0xE6: "ae"}
    for code in range(0xC0, 0x250):
        base = unicodedata.normalize("NFKD", chr(code))[0]
        if base.isascii() and ord(base) != code:
            plain[code] = base
    return plain


_FOLD = _accents() | _QUOTES | _DASHES


def normal(text: str) -> str:
    """The form in which the lexicon reads: one case, one width, one kind of quote, no URLs.

    >>> normal("Dépassé：  ８１９２ “tokens”, see https://a.b/c")
    "depasse: 8192 'tokens', see "
    """
    text = _CLASSES.sub(_apart, _GROUPED.sub(",", _URL.sub("", text)))
    text = unicodedata.normalize("NFKC", text).casefold().translate(_FOLD)
    return _SPACE.sub(" ", text)


def _apart(found: re.Match[str]) -> str:
    """``ServiceQuotaExceededException`` is words too."""
    return _CAMEL.sub(" ", found[0])


def spell_out(code: str) -> str:
    """A code as words: ``TooManyRequests`` and ``too_many_requests`` are one thing.

    >>> spell_out("RateLimitExceeded"), spell_out("TOO_MANY_TOKENS")
    ('rate limit exceeded', 'too many tokens')
    """
    return normal(_CAMEL.sub(" ", code).replace("_", " ").replace("-", " ").replace(".", " "))


def _any(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts))


TIMEOUT = _any(
    r"time[ -]?d?[ -]?out",
    r"deadline[ _]?exceeded|deadline has|exceeded (?:the )?(?:time|deadline)|time limit exceeded|took too long",
    r"gateway time|too long to (?:respond|process|complete)|timelimit",
    r"超时|超時|逾时|逾時|タイムアウト|時間切れ|시간 ?초과|타임아웃|zeituberschreitung|zeitlimit",
    r"delai (?:d'attente|imparti|depasse)|temps d'attente|tiempo de espera|tempo (?:limite )?(?:de espera|esgotado)",
    r"tempo scaduto|тайм-?аут|врем\w+ ожидания|istekte zaman|zaman asimi|limite de tiempo",
)
RATE = _any(
    r"rate[ _-]?limit|ratelimit|too[ _]many[ _](?:concurrent[ _])?(?:requests|calls|queries|connections)|throttl",
    r"(?:tokens?|requests?|calls?|queries|prompts?)[ _]*(?:per|/|a|each|every)[ _]*(?:min|sec|hour|day|month)",
    r"per[ _-](?:minute|second|min\b|sec\b)|/ ?(?:min(?:ute)?|sec(?:ond)?|s)\b|\b[rtqc]p[mds]\b|\bqps\b",
    r"concurren\w+ (?:limit|request|call|exceed)|(?:exceed|max)\w* concurren|slow ?down|enqueued|request frequency",
    r"(?:request|call) (?:limit|quota) (?:reached|exceeded)|number of requests|requests? too (?:fast|frequent)",
    r"频率|頻率|频繁|頻繁|限流|限速|速率|并发|併發|每(?:分钟|秒|分鐘)|请求(?:次数)?过(?:多|快)|请求数|調用過|调用次数",
    r"レート|リクエストが多すぎ|リクエスト数|毎分|分あたり|毎秒|流量制限|同時実行",
    r"요청 ?(?:한도|속도|제한|횟수|빈도)|속도 ?제한|분당|초당|너무 많은 요청|요청이 너무 (?:많|빈번)|동시 요청",
    r"ratenlimit|ratenbegrenz|anfragelimit|zu viele (?:gleichzeitige )?anfragen|(?:pro|je) (?:minute|sekunde)",
    r"trop de requetes|limite de (?:debit|requetes)|par (?:minute|seconde)|nombre de requetes",
    r"demasiadas (?:solicitudes|peticiones)|limite de (?:tasa|velocidad|frecuencia|solicitudes|peticiones)",
    r"por (?:minuto|segundo)|muitas (?:solicitacoes|requisicoes)|limite de (?:taxa|requisicoes|solicitacoes)",
    r"слишком много (?:одновременных )?(?:запросов|обращений)|лимит запросов|частот|в (?:минуту|секунду)",
    r"превышен\w* (?:лимит|количество|число) (?:запросов|обращений)|troppe richieste|al minuto|te veel verzoeken",
    r"cok fazla istek|dakikada|zbyt wiele (?:zapytan|zadan)|na minute",
)
QUOTA_HARD = _any(
    r"insufficient[ _](?:user[ _])?(?:quota|balance|funds|credits?|account)|insufficient\w* \w+ balance",
    r"(?:balance|credits?|funds) (?:is |are |was )?(?:too low|insufficient|not enough|exhausted|depleted)",
    r"(?:not enough|no|out of|exhausted|more|add|used (?:all|up)) (?:\w+ ){0,3}(?:credits?|balance|funds)\b",
    r"billing[ _](?:hard[ _])?(?:limit|not active)|payment[ _-]?required|arrear|overdue|past due|in good standing",
    r"spend(?:ing)?[ _](?:limit|cap)|budget|monthly|per month|/ ?month|daily|per day|allocation of|prepaid",
    r"free tier|paid (?:basis|plan)|top[ -]?up|recharge|add (?:a )?payment|purchase|usage (?:limit|cap)|subscription (?:has )?(?:expired|ended)",
    r"余额|餘額|欠费|欠費|充值|额度(?:不足|已|用)|額度|资源包|已用(?:完|尽)|套餐|每(?:日|天|月)|当日|账户",
    r"残高|利用枠|クレジット|お支払い|料金|課金|1日あたり|月間|잔액|크레딧|결제|충전|일일|월간",
    r"guthaben|abrechnung|rechnung|bezahl|monatlich|taglich|solde|credits? (?:epuis|insuffisant)|facturation",
    r"mensuel|quotidien|journalier|saldo|facturacion|faturamento|creditos?|mensual|mensal|diario|diaria|credito",
    r"баланс|средств|оплат|месячн|суточн|дневн|в (?:сутки|день|месяц)|пополн",
)
QUOTA = _any(
    QUOTA_HARD.pattern,
    r"quota|配额|配額|额度|クォータ|クオータ|割り当て|할당량|쿼터|kontingent|cuota|\bcota\b|квот|billing",
)
OVERLOADED = _any(
    r"overload|over capacity|at (?:full )?capacity|capacity (?:\w+ )?exceeded|no (?:available )?capacity|out of capacity",
    r"server(?: is)? (?:currently )?busy|(?:is|too|currently) busy|service[ _](?:temporarily )?unavailable",
    r"temporarily unavailable|queue (?:is )?(?:full|limit|length|size)|pending requests|no (?:available )?slots?",
    r"slot[s]? (?:un)?available|model (?:is )?(?:currently |still )?(?:loading|warming|starting|unavailable)",
    r"is currently loading|(?<!error )(?<!failed )loading model|(?:no|not enough) (?:instances?|workers?|replicas?|resources?) available",
    r"not ready|unable to process your request|high (?:load|demand|traffic)|heavy load|try again later when",
    r"过载|過載|繁忙|负载(?:过高|已)|負載|忙碌|資源不足|资源不足|稍后(?:再试)?.{0,6}(?:繁忙|拥挤)|拥挤",
    r"過負荷|混雑|混み合|ビジー|과부하|혼잡|바쁩|uberlast|ausgelastet|surcharg|sobrecarg|перегруж|занят|sovraccaric",
)
AUTH = _any(
    r"(?:invalid|incorrect|wrong|missing|bad|expired|revoked|malformed|no|provide an?|without an?)[ _-](?:or \w+ )?(?:\w+[ _-])?"
    r"(?:api|access|auth\w*|subscription|secret|bearer|service)[ _-]?(?:keys?|tokens?)\b",
    r"(?:invalid|expired|missing|bad|wrong)[ _-](?:auth\w* |bearer )?(?:token|jwt|bearer|key)\b(?! (?:count|limit|length|ids?|number|index|name))",
    r"api[ _-]?key (?:\w+ ){0,3}(?:not valid|invalid|expired|missing|required|disabled|revoked|incorrect|not found)",
    r"api[ _-]?keys? (?:is|was|has|have|not|must)|invalid[ _-]?api[ _-]?key|unauthori[sz]ed|unauthenticated",
    r"authenticat|authori[sz]ation|not authori[sz]ed|permission|(?<!extra )forbidden|access[ _]?denied|credential|login fail",
    r"(?:\btoken|key|certificate|session) (?:\w+ ){0,6}(?:expired|revoked|no longer valid)|security token|signature (?:we|does|is)",
    r"unrecognized ?client|don't have access|no access to|must be logged in|not signed in|country, region|unsupported_country",
    r"身份验证|身份認證|认证|認證|鉴权|鑑權|密钥|金鑰|令牌(?:无效|已过期|不正确|验证|状态|失效)|无效的令牌|权限|未授权|token非法",
    r"api ?キー|認証|アクセス権|権限|인증|api ?키|권한|액세스 거부|ungultiger (?:api|schlussel)|api-?schlussel",
    r"authentifizierung|nicht autorisiert|keine berechtigung|cle (?:d')?api|authentification|non autorise",
    r"clave (?:de )?(?:la )?api|autenticacion|no autorizado|chave (?:de |da )?api|autenticacao|nao autorizado",
    r"ключ|авториз|аутентификац|нет доступа|доступ запрещ|chiave api|autenticazione|api anahtar",
)
MODEL_MISSING = _any(
    r"(?:model|deployment|engine|endpoint)s?\b[^.;]{0,80}?(?:not[ _](?:be )?found|n[o']t (?:be found|exist|available)"
    r"|doesn't exist|(?:is|was) unknown|is not (?:valid|supported|loaded|registered|available|embedding)|not supported"
    r"|is invalid|unavailable for|deprecated|decommissioned|retired|shut down)",
    r"(?:unknown|invalid|unsupported|unrecognized|no such|nonexistent|missing|wrong)"
    r"(?: \w+)? (?:model|deployment|engine)\b(?! input)",
    r"does(?: not|n't) work with the specified model|choose (?:a )?different model|no models? (?:is |are )?(?:loaded|found|available|named)|model[ _]?not[ _]?(?:found|exist|supported)",
    r"deployment ?not ?found|not found, try pulling|no (?:endpoints|providers?) found|could not find model",
    r"does(?: not|n't) support embedding|not (?:an )?embeddings?\b|not support(?:ed)? (?:for |the )?embed",
    r"(?:model )?identifier is invalid|model (?:id|name) (?:is )?(?:invalid|incorrect|wrong|empty)",
    r"no (?:healthy )?deployments? (?:available|found)|cannot find (?:the )?model|did you mean the model",
    r"模型[^。]{0,20}(?:不存在|未找到|找不到|不支持|无效|未开通|未部署|未加载|下线)|(?:未知|无效|不支持)的?模型|找不到模型|無此模型",
    r"モデル[^。]{0,30}(?:見つかりません|存在しません|存在しない|見つから|サポートされていません|不明)|不明なモデル",
    r"모델[^.]{0,30}(?:찾을 수 없|존재하지|없습니다|지원(?:하지|되지))|알 수 없는 모델",
    r"model{1,2}\b[^.]{0,40}(?:nicht gefunden|existiert nicht|unbekannt|nicht verfugbar)|unbekanntes modell",
    r"modele\b[^.]{0,40}(?:introuvable|n'existe pas|inconnu|non trouve)|model[oe]\b[^.]{0,40}"
    r"(?:no (?:existe|encontrado|se encontr)|nao (?:existe|encontrado|foi encontrado)|desconocido|non trovato)",
    r"no se encontro el modelo|модел\w*[^.]{0,40}(?:не найден|не существует|неизвестн|недоступн|не поддерж)",
    r"неизвестная модель|no existe el modelo|modele inconnu|kein modell|o modelo[^.]{0,40}nao existe",
)
DIMENSIONS = _any(
    r"(?<!singleton )(?<!a )dimensions?\b|dimensionality|output_?dim|matryoshka|embedding[ _](?:dim|size|width)|vector (?:size|length)",
    r"维度|維度|向量长度|次元|차원|dimensionen|dimensiones|dimensoes|размерност|dimensioni",
)
OUTPUT = _any(
    r"max[ _-]?(?:new|output|completion)[ _-]?tokens?|\bmax_tokens\b|maximum output|max output|output tokens?",
    r"completion tokens?|tokens? to (?:generate|sample)|in the (?:completion|output)\b|maxoutputtokens|maxtokens\b",
    r"num_predict|生成(?:的)?(?:最大)?token|最大输出|输出长度|出力トークン|최대 출력|출력 토큰|ausgabetoken|tokens de (?:sortie|salida|saida)",
)
EMPTY = _any(
    r"empty|blank|non-?empty|minlength|min_length|too[ _]short|at least (?:1|one) (?:char|item|elem|element|text|input|token)",
    r">= ?1 char|only (?:of )?whitespace|whitespace only|zero[ -]length|is not specified|no (?:input|text|content)s? (?:was |were )?"
    r"(?:provided|given|specified|found)|nothing to embed|must not be (?:null|none)|min(?:imum)? (?:length|items)",
    r"cannot be (?:null|none)|no tokens|must contain at least|at least 1\b|length must be (?:greater|more) than 0",
    r"为空|空字符串|空文本|空值|空串|不能是空|為空|空字串|空です|空の|空文字|空白|必須です|비어|빈 (?:문자열|입력|텍스트|값)|공백",
    r"\bleer\b|leere[rnsm]?\b|nicht leer|\bvides?\b|vacio|vacia|vazio|vazia|пуст|vuot[oaie]\b|\bpust[yae]\b|\bbos\b|blanco",
)
BAD_VALUES = _any(
    r"\bnan\b|\binf(?:inity|inite)?\b(?!\w)|non-?finite|not finite|unsupported value|invalid (?:float|embedding) value",
    r"非数|無限大|무한대|nicht endlich|zero[ -]norm",
)
BAD_SHAPE = _any(
    r"cannot unmarshal|unmarshal|deserializ|parse (?:the )?(?:json|body|request)|(?:invalid|malformed|bad) json|json (?:parse|decode)",
    r"must be (?:an? |of type |either |one of )?(?:the )?(?:'?(?:string|str|list|array|object|text|json|valid (?:string|list|dict))s?'?)",
    r"expected type|neither \w+ nor|expected (?:an? )?(?:string|str|array|list|object|dict|'\w+' to be)|should be (?:an? )?(?:valid )?(?:string|list|dict|array|object|model)",
    r"(?:field|key|parameter|argument|property|body)s? (?:is |are )?(?:required|missing)|required (?:key|field|property|parameter)",
    r"missing (?:required |a required |the |or invalid )?(?:field|key|parameter|argument|property|'\w+'|\w+ (?:field|parameter))",
    r"extraneous key|extra (?:inputs|fields)|not permitted|did not match|schema violation|(?:str|string|list|dict) type expected",
    r"invalid type|type mismatch|wrong type|unexpected (?:type|field|key|token)|'?must be provided|not a valid (?:string|list|json)",
    r"unknown (?:name|field)|invalid input type|only supports (?:a )?(?:single )?(?:string|text)|unprocessable|invalid (?:body|request body)",
    r"必须(?:是|为)(?:字符串|数组|列表|文本)|类型(?:错误|不正确|不匹配)|格式(?:错误|不正确)|缺少|文字列(?:で|の)|配列である|形式|型が",
    r"문자열이어야|배열이어야|형식|누락|muss (?:ein )?(?:string|zeichenkette|array|liste)|zeichenkette oder|doit etre une? (?:chaine|liste|tableau)",
    r"debe ser una? (?:cadena|lista|arreglo|array)|deve ser uma? (?:string|lista|cadeia|array)|должн\w+ быть (?:строк|массив|списк)|ожидал",
)
UPSTREAM = _any(
    r"upstream|bad gateway|provider responses?|provider returned|internal (?:server )?error|server (?:had an )?error|\beof\b",
    r"connection (?:refused|reset|error|aborted|closed|failed)|failed to establish|max(?:imum)? retries|name resolution|unreachable",
    r"broken pipe|remote (?:end|protocol)|runner process|has terminated|crash|out of memory|\boom\b|cuda|segmentation|panic",
    r"backend (?:error|unavailable)|something went wrong|unexpected error|no route|could not (?:resolve|connect)|getaddrinfo|disconnect",
    r"内部(?:错误|服务器|服务|エラー)|服务(?:器)?(?:内部)?(?:错误|异常)|サーバー(?:エラー|内部)|内部サーバー|내부 (?:서버 )?오류|서버 오류",
    r"interner (?:server)?fehler|erreur interne|error interno|erro interno|внутренн\w+ ошибк|errore interno",
)

# --- overflow: something of the input (SUBJECT) is over something (TOO_MUCH), and nothing else is (NOT_TEXT).

_NOT_TEXT = (
    r"dimensions?|retr(?:y|ies)|attempts?|redirects?|connections?|sockets?|clients?|sessions?|threads?|workers?|headers?|cookies?|keys?|"
    r"urls?|uris?|names?|usernames?|passwords?|files?|images?|audios?|videos?|pdfs?|attachments?|uploads?|pixels?|labels?|tags?|"
    r"metadata|titles?|ids?|identifiers?|deadlines?|timeouts?|budgets?|quotas?|rate|memory|storage|disk|cpu|stack|recursion|depth|nesting|"
    r"capacity|concurrency|connection|queue|backlog|pending requests|subrequests?|functions?|tools?|stop(?: sequences?)?|choices|logprobs|"
    r"temperature|top_?[pkn]|seeds?|penalty|users?|organizations?|projects?|credits?|spend(?:ing)?|costs?|responses?|outputs?|replies|"
    r"completions?|answers?|logins?|open files|collections?|indexes|namespaces?|partitions?|replicas?|columns?|fields?|parameters?|"
    r"arguments?|candidates?|time|duration|waits?|latency|age|version|content[ -]length|host|hostname|domain|path|filenames?|boundary|"
    r"severity|threshold|policy|score|subscription|seats?|devices?|gpus?|resources?|resource limits|model name|variables?|patterns?|"
    r"vectors?|embedding size|token ids?|signatures?|descriptions?|comments?|cache|buffers?|logs?|events?|jobs?|tasks?|imports?|downloads?"
)
NOT_TEXT = _any(
    rf"\b(?:{_NOT_TEXT})(?: \w+){{0,2}}?:? (?:is |are |was |were |has been |have been |must be |should be |cannot be |has |have )?"
    r"(?:too (?:long|large|big|many|deep|high)|exceed\w*|longer than|larger than|greater than|limit (?:exceeded|reached)|over (?:the )?limit"
    r"|at most|less than|above)",
    rf"\b(?:too many|max(?:imum)?(?: number of| allowed| total)?|exceed\w*(?: (?:the|your|its|their|maximum|max|allowed|limit|number|of|for|on))*)"
    rf" (?:\w+ )?(?:{_NOT_TEXT})\b",
    r"stop sequences?|(?:input|task)_type|encoding_format|generated \w+|token ids? out of|vocabulary|content (?:filter|policy|management|safety|moderation)\w*|context (?:cancel\w*|deadline|manager)|ssl context|safety \w+",
    r"response (?:body )?(?:is )?(?:too|exceed)\w*|max(?:imum)? (?:call stack|recursion)|文件(?:大小|过大|太大)|图片|ファイル|파일|datei\w*",
    r"(?:fichier|archivo|arquivo|файл)\w*|用户名|密码",
)
CONTEXT = _any(
    r"context[ _-]?(?:length|window|size|limit|budget|len)|\bn_?ctx\w*|max(?:imum)? context|context (?:is |was )?(?:full|overflow|exceed|reached)",
    r"max_?model_?len|maximum (?:model|sequence|prompt|input|embedding input) length|sequence[ _-]length|max_?seq_?len\w*|max position",
    r"model's (?:max\w*|context|limit|token)|model (?:maximum|token limit)|physical batch|n_u?batch|configured batch|current batch size|window of",
    r"上下文|コンテキスト|コンテクスト|컨텍스트|문맥|kontext|contexte|contexto|контекст|contesto|最大序列|シーケンス長|시퀀스",
)
SIZED = _any(
    r"size|length|\blong\b|large|\bbig\b|token|char|byte|\b[km]i?b\b|number|count|items|elements|instances|batch|many|\d",
    r"[长長大小字数數多]|[长長]さ|サイズ|길|크|개|lang|gross|taille|tamano|tamanho|размер|длин|числ",
)
SUBJECT = _any(
    r"input|prompt|\btexts?\b|document|passage|sequence|sentence|paragraph|tokens?\b|characters?|\bchars?\b|\bbytes?\b|\b[km]i?b\b|"
    r"payload|nutzlast|\bbody\b|entity|batch|instances?|elements?|array",
)
HEAD = _any(
    r"input|prompt|\btexts?\b|document|passage|sequence|sentence|paragraph|payload|\bbody\b|entity|batch|instances|array|contents?\b|message",
    r"输入|輸入|文本|内容|內容|文档|请求|請求|数组|批|入力|テキスト|文章|プロンプト|リクエスト|バッチ|입력|텍스트|문장|프롬프트|요청|배치|문서",
    r"eingabe|anfrage|texte?\b|entree|requete|entrada|texto|solicitud|requisicao|ввод|вход|текст|запрос|промпт|документ|testo",
)
SUBJECT_IF_SIZED = _any(
    r"\bcontents?\b|\bstrings?\b|chunk|\bquery\b|\bmessages?\b|request|\bitems?\b|\blist\b|length",
    r"输入|輸入|文本|内容|內容|字符|字元|字节|位元組|文档|长度|長度|令牌|词元|请求|請求|批|条|條|数组|陣列|个数|提示词|入力|テキスト|文章|文字|トークン|"
    r"プロンプト|バイト|バッチ|リクエスト|件数|要素|配列|입력|텍스트|문장|문자|글자|토큰|프롬프트|바이트|배치|요청|항목|길이|배열|문서",
    r"eingabe|zeichen|anfrage|stapel|elemente|eintrage|texte|lange|entree|texte|caracteres|octets|jetons?|requete|\blots?\b|elements|longueur|invite",
    r"entrada|texto|caracteres|solicitud|peticion|\blote\b|elementos|longitud|solicitacao|requisicao|itens|comprimento|tamanho|indicacion",
    r"ввод|вход|текст|символ|знак|токен|байт|запрос|пакет|батч|элемент|длин|размер|промпт|документ|testo|caratteri|richiesta|lunghezza|"
    r"gettoni|girdi|metin|karakter|tekst|znak|wejsci|dokument",
)
TOO_MUCH = _any(
    r"exceed|too[ _-](?:long|large|big|many|lengthy)|(?:longer|larger|greater|bigger|more)(?: \w+)? than (?!0\b|zero|one\b)|over the|\bover(?:flow|size|long|length)|surpass|beyond",
    r"at most|no more than|up to|less than|fewer than|smaller than|not (?:be )?(?:larger|longer|greater|more)|maximum|\bmax\b|\blimits?\b|limited to|does(?: not|n't) fit",
    r"above (?:the|\d)|\bonly \d|(?<!-)> ?\d|>= ?(?![01]\b)[\dn]|<=? ?\d+(?![\d>])|≤|shorter than|in (?:the )?range|(?:can|may) (?:hold|take|contain|have)|(?:accepts?|allows?) (?:only |just )?(?:a single|one\b|\d)|only (?:one|a single)|(?:is|are) allowed per|(?:max\w*|largest) allowed|allowed (?:per|size|length|max|limit)|capped|max_?(?:length|items|seq\w*|model\w*|tokens?|input\w*|batch\w*)|largest allowed|cannot be truncated|"
    r"supported range|range of|insufficient context",
    r"超过|超過|超出|超限|超长|超長|过长|過長|太长|太長|过多|過多|过大|過大|太大|太多|大于|大於|小于|小於|少于|上限|最大|最多|不得超|不能超|至多|以内|以內|范围|範圍|限制为",
    r"超え|長すぎ|大きすぎ|多すぎ|以下|未満|オーバー|制限|초과|너무 (?:길|많|큽|큰|깁)|최대|이하|넘|상한|제한|이내",
    r"ubers(?:chreit|chritt|teig|tieg)|zu (?:lang|gross|viele|umfangreich)|(?:weniger|kleiner|kurzer|geringer) (?:als|oder gleich)|langer als|grosser als|mehr als|hochst|maximal|obergrenze|erlaubt sind|begrenzt",
    r"depass|exced|trop (?:long|grand|volumineu|gros|de )|moins de|inferieur|au (?:plus|maximum)|maximum|maximal|plus (?:long|de|grand)|superieur",
    r"superan?\b|menos de|menor (?:que|o igual|ou igual)|inferior a|supero|superado|sobrepas|demasiad|maxim[oa]|mayor que|mas de|mas larg|ultrapass|muito (?:long|grande)|longo demais|maior que|mais de|acima",
    r"превы|превос|слишком (?:длин|больш|мног)|больше|меньше|короче|длиннее|максим|не более|лимит|предел|supera|ecced|tropp[oie]|massim|oltre|asiyor|asti|cok uzun|przekracz|zbyt (?:dlug|duz)",
)
LENGTH_SHAPES = _any(
    r"size of tensor a.{0,80}size of tensor b.{0,40}non-singleton dimension [1-9]",
    r"expanded size of the tensor.{0,80}existing size.{0,40}non-singleton dimension [1-9]",
    r"index-select invalid index|index out of range in self|broadcast an axis by a dimension|indexing errors|is not in \[0",
    r"longer than the specified maximum|input_ids is \S+ but 'max_length'|position_?(?:ids|embedding)s?\b.{0,60}(?:range|exceed)",
)
CODES = _any(
    r"context (?:length|window) ?exceeded|exceed context|context window ?exceed|string (?:above max length|too long)|max tokens per request",
    r"tokens limit reached|too many tokens in batch|request too large|input too long|prompt too long|too many input tokens|max input (?:tokens|length)",
    r"payload too large|content too large|array above max length|tokens exceeded|token limit exceeded|too many inputs|batch too large|"
    r"batch size exceeded|invalid input length|inputs? length exceed",
)
COUNTED = _any(
    r"(?<!per )batch[ _-]?sizes?\b|(?:too many|number of|count of|amount of) (?:\w+ )?(?:inputs?|texts?|items?|instances?|documents?|elements?|entries|strings|"
    r"sentences|passages|queries|embeddings|chunks|records|contents)(?! (?:token|char|byte|length))",
    r"(?:array|list)\b[^.;]{0,40}(?:too long|length|at most|items|size)|maxitems|max_items|item count|too many (?:elements|items|inputs)|"
    r"(?:inputs?|texts?|items?|instances?(?:\(s\))?|documents?|elements?|entries|embeddings|contents|requests) (?:\w+ )?(?:per|in (?:one|a|each|the|this)) "
    r"(?:\w+ )?(?:request|batch|call|prediction)",
    r"requests can be in one batch|largest allowed size|too many (?:batch )?(?:requests in|instances)|batch (?:is )?too (?:large|big|long)|inputs exceeds?",
    r"数组|陣列|批(?:次|量|处理)?(?:的)?(?:大小|数量|数|上限)|批量|文本数|输入数|条数|条目|个数|单次最多|一次最多|(?:输入|文本|内容)(?:的)?数量",
    r"バッチ|配列|件数|入力(?:の)?数|テキスト(?:の)?数|要素数|배치|항목 수|배열|입력 (?:개수|수)|텍스트 (?:개수|수)|개수",
    r"batchgrosse|stapelgrosse|stapel|anzahl (?:der )?(?:eingaben|texte|elemente)|zu viele (?:eingaben|texte|elemente)|taille d[eu] lot|"
    r"nombre (?:de |d')(?:textes|entrees|elements)|trop (?:de |d')(?:textes|entrees|elements)|tamano (?:de|del) lote|numero (?:maximo )?de (?:textos|entradas|elementos)",
    r"demasiad[ao]s (?:entradas|textos|elementos)|tamanho do lote|numero (?:maximo )?de (?:itens|entradas)|(?:muitas|muitos|demais) (?:entradas|textos|itens)|"
    r"размер (?:пакета|батча)|(?:количество|число) (?:текстов|элементов|входных|строк|документов)|слишком много (?:текстов|элементов|входных|строк)|dimensione del (?:batch|lotto)",
)
BATCH_WORDS = _any(r"\bbatch|批|バッチ|배치|stapel|\blot\b|\blote\b|пакет|батч|lotto")
WHOLE_REQUEST = _any(
    r"per[ -]request|request (?:size|body|payload|entity|length)|payload|\bbody\b|entity too|content too large|request (?:is )?too (?:large|long|big)|length limit exceeded",
    r"total (?:number of |count of )?(?:input )?(?:tokens|characters|size|length)|tokens? (?:\w+ )?(?:in|per|across|for|of) (?:\w+ ){0,2}(?:batch|request|all|inputs|embeddings call)",
    r"batch (?:has|contains|of|token|total|with)|(?:overall|combined|aggregate|altogether|in total|sum of)|(?:all|across) (?:the )?(?:inputs|texts|items)|submitted batch|message larger",
    r"max tokens per request|too many tokens in batch|tokens limits? reached|max \w+ per batch|request must be smaller|request exceed\w* the maximum size|unable to submit request because the input token count",
    r"请求体|請求體|请求(?:大小|总|内容过大)|总 ?(?:token|长度|字数|字符|数|计|和|量|共)|(?:单次|每次|一次)请求|總|合计|全部|リクエスト(?:本文|ボディ|サイズ|全体)|合計|総|全体|リクエスト(?:あたり|につき|ごと)",
    r"요청 ?(?:본문|크기|전체|당)|전체|합계|총 |총합|gesamt|insgesamt|anfragekorper|anfragegrosse|nutzlast|(?:pro|je) anfrage|au total|total(?:es|e)? |corps de la requete|par requete|taille de la requete|en total|total de|por (?:solicitud|peticion|requisicao|solicitacao)|cuerpo de la|tamano de la solicitud",
    r"в сумме|[нз]а (?:один )?запрос|per richiesta|tamanho da (?:solicitacao|requisicao)|corpo da|суммарн|общ(?:ее|ая|ий|его|ую)|всего|тело запроса|размер запроса|in totale|complessiv",
)
ONE_INPUT = _any(
    r"\b(?:each|single|individual|every|any|one of the|per) (?:input|text|document|string|item|entry|passage|message|sentence|instance)|per[ -](?:text|input|document)",
    r"input\[|inputs\[|texts\[|单条|单个|每条|每个|單|各|1件|一つの|각|einzeln|jede[rns]?\b|chaque|cada|кажд|ogni|\binput (?:sequence|length|text|is|has)\b|\bsequence (?:is|of|length)|(?:input|text|document|item)s? (?:id |at index |index |#|no\.? )?\d",
)
