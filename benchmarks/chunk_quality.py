"""Chunk quality beside other splitters: token-level recall, precision and IoU of what is retrieved.

The folder given holds ``questions.csv`` (question, references, corpus_id; references are JSON with start_index and
end_index) and a Markdown file a corpus. 800 characters a chunk, no overlap, five chunks retrieved, by BM25 and by
the embedded model. Characters stand for tokens, as in the public evaluation.

    python benchmarks/chunk_quality.py FOLDER [--embedded]
"""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import sys
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from unabridged.text.lexical import words_of
from unabridged.text.segmenters import split

SIZE, TOP = 800, 5


def ours(method):
    def cut(text):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = split(text, method, max_tokens=SIZE, tokenizer="characters", embedder="lexical")
        return [(chunk.start, chunk.end) for chunk in made]

    return cut


def placed(pieces, text):
    """Other splitters give texts: where each lies, looked for in order, blank differences ignored."""
    spans, floor = [], 0
    for piece in pieces:
        at = text.find(piece.strip(), floor)
        if at >= 0:
            spans.append((at, at + len(piece.strip())))
            floor = at + 1
    return spans


def peers():
    found = {}
    if importlib.util.find_spec("langchain_text_splitters"):
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        chain = RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=0)
        found["langchain recursive"] = lambda text: placed(chain.split_text(text), text)
    if importlib.util.find_spec("semantic_text_splitter"):
        from semantic_text_splitter import MarkdownSplitter, TextSplitter

        found["text-splitter"] = lambda text: placed(TextSplitter(SIZE).chunks(text), text)
        found["text-splitter markdown"] = lambda text: placed(MarkdownSplitter(SIZE).chunks(text), text)
    if importlib.util.find_spec("semchunk"):
        import semchunk

        found["semchunk"] = lambda text: placed(semchunk.chunkerify(len, SIZE)(text), text)
    if importlib.util.find_spec("chonkie"):
        from chonkie import RecursiveChunker

        chonkie = RecursiveChunker(tokenizer="character", chunk_size=SIZE)
        found["chonkie recursive"] = lambda text: placed([chunk.text for chunk in chonkie.chunk(text)], text)
    return found


def bm25(chunks, questions):
    bags = [Counter(words_of(chunk)) for chunk in chunks]
    lengths = np.array([sum(bag.values()) for bag in bags], float)
    frequency = Counter(word for bag in bags for word in bag)
    for question in questions:
        scores = np.zeros(len(bags))
        for word in set(words_of(question)):
            if word in frequency:
                weight = math.log(1 + (len(bags) - frequency[word] + 0.5) / (frequency[word] + 0.5))
                counts = np.array([bag[word] for bag in bags], float)
                scores += weight * counts * 2.5 / (counts + 1.5 * (0.25 + 0.75 * lengths / lengths.mean()))
        yield np.argsort(-scores, kind="stable")[:TOP]


def embedded(chunks, questions):
    from unabridged.embedding.embedder import Embedder

    with Embedder(cache=True) as embedder:
        stored, asked = embedder.embed(chunks), embedder.embed(questions)
    return np.argsort(-(asked @ stored.T), axis=1, kind="stable")[:, :TOP]


def covered(spans):
    return {at for start, end in spans for at in range(start, end)}


def score(cut, texts, questions, retrieve):
    rows = []
    for corpus, text in texts.items():
        mine = [row for row in questions if row[2] == corpus]
        spans = [span for span in cut(text) if text[span[0] : span[1]].strip()]
        hits = retrieve([text[a:b] for a, b in spans], [row[0] for row in mine])
        for (_, references, _), best in zip(mine, hits, strict=True):
            wanted, got = covered(references), covered([spans[at] for at in best])
            both = len(wanted & got)
            total = sum(spans[at][1] - spans[at][0] for at in best)
            rows.append((both / len(wanted), both / max(1, total), both / max(1, len(wanted | got))))
    return np.mean(rows, axis=0)


def main():
    folder = Path(sys.argv[1])
    with (folder / "questions.csv").open(encoding="utf-8", newline="") as file:
        questions = [
            (
                row["question"],
                [(r["start_index"], r["end_index"]) for r in json.loads(row["references"])],
                row["corpus_id"],
            )
            for row in csv.DictReader(file)
        ]
    names = sorted({row[2] for row in questions})
    texts = {name: (folder / f"{name}.md").read_text("utf-8") for name in names if (folder / f"{name}.md").is_file()}
    questions = [row for row in questions if row[2] in texts]
    splitters = {
        f"unabridged {m}": ours(m) for m in ("paragraph", "fixed", "sentence", "recursive", "structural", "semantic")
    }
    splitters |= peers()
    retrievers = {"BM25": lambda c, q: list(bm25(c, q))} | ({"MiniLM": embedded} if "--embedded" in sys.argv else {})
    table = defaultdict(dict)
    print(f"{len(questions)} questions, {SIZE} characters, no overlap, {TOP} chunks\n")
    print("| splitter | retriever | recall | precision | IoU |\n|---|---|---|---|---|")
    for retriever, retrieve in retrievers.items():
        for name, cut in splitters.items():
            table[name][retriever] = score(cut, texts, questions, retrieve)
            print(
                f"| {name} | {retriever} | " + " | ".join(f"{v:.3f}" for v in table[name][retriever]) + " |", flush=True
            )


if __name__ == "__main__":
    main()
