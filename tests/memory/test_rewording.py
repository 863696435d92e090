"""A fact that outlives the text that worded it is told in the words of a text that stays (promise 9, case 41)."""

import pytest

from unabridged.memory import Memory

SECRET = "Alice was bribed into the directorate of Acme by Volkov."
PLAIN = "Since 2019 Alice works at Acme, in Rome."
QUOTE = "Alice works at Acme"


def told_twice(memory, *, quote=QUOTE, fact="Alice was bribed into Acme by Volkov", relation="bribed into"):
    """One fact, worded by the first text and stated by the second in its own words."""
    with memory.write() as tx:
        one = tx.artifact(SECRET)
        alice = tx.entity("Alice", "person", artifact=one)
        acme = tx.entity("Acme", "organization", artifact=one)
        edge = tx.edge(alice, relation, acme, artifact=one, fact=fact, valid_at="2019-01-01")
    with memory.write() as tx:
        two = tx.artifact(PLAIN)
        tx.restate(edge, two, quote=quote)
    return one, two, edge


def in_no_row(memory, *words):
    view = memory.store.view()
    rows = [
        str(view[table].read().drop_columns(["vector"] if "vector" in view[table].schema.names else []).to_pylist())
        for table in view.head.versions
    ]
    return not [word for word in words if any(word.casefold() in row.casefold() for row in rows)]


def test_case_41_the_fact_is_told_by_the_passage_that_stays(memory):
    one, _, edge = told_twice(memory)
    done = memory.delete(one)
    assert (done.reworded, done.edges) == ((edge.id,), ())
    after = memory.edges.get(edge.id)
    assert (after.fact, after.relation) == (QUOTE, "works at")
    assert (after.artifact_id, after.valid_at, after.created_at) == (None, edge.valid_at, edge.created_at)
    assert in_no_row(memory, "bribed", "Volkov", "directorate")
    with memory.write() as tx:  # its key is of the new words: told again, it is the same fact
        three = tx.artifact("Alice works at Acme")
        again = tx.edge(edge.source_id, "works at", edge.target_id, artifact=three, fact=QUOTE)
    assert tx.stored(again).id == edge.id


def test_without_a_passage_the_names_and_what_relates_them(memory):
    one, _, edge = told_twice(memory, quote=None, relation="works at")
    assert memory.delete(one).reworded == (edge.id,)
    assert memory.edges.get(edge.id).fact == "Alice works at Acme"


def test_a_relation_that_nobody_says_any_more_says_nothing(memory):
    one, _, edge = told_twice(memory, quote=None)
    memory.delete(one)
    assert memory.edges.get(edge.id).fact == "Alice is related to Acme"
    assert in_no_row(memory, "bribed", "Volkov")


def test_words_that_a_source_still_says_stay_as_they_are(memory):
    one, _, edge = told_twice(memory, fact="Alice works at Acme", relation="works at")
    assert memory.delete(one).reworded == ()
    assert memory.edges.get(edge.id).fact == "Alice works at Acme"


def test_figures_are_words(memory):
    with memory.write() as tx:
        one = tx.artifact("Acme paid $7M to Beta")
        acme, beta = tx.entity("Acme", "company", artifact=one), tx.entity("Beta", "company", artifact=one)
        edge = tx.edge(acme, "paid", beta, artifact=one, fact="Acme paid Beta $7M")
    with memory.write() as tx:
        two = tx.artifact("Acme paid Beta")
        tx.restate(edge, two)
    memory.delete(one)
    assert memory.edges.get(edge.id).fact == "Acme paid Beta"


def test_two_facts_that_would_be_told_alike_stay_two(memory):
    with memory.write() as tx:
        one = tx.artifact("Alice secretly and openly bought Acme")
        alice, acme = tx.entity("Alice", "person", artifact=one), tx.entity("Acme", "company", artifact=one)
        edges = [
            tx.edge(alice, "bought", acme, artifact=one, fact=f"Alice {how} bought Acme")
            for how in ("secretly", "openly")
        ]
    with memory.write() as tx:
        two = tx.artifact("Alice bought Acme")
        for edge in edges:
            tx.restate(edge, two, quote="Alice bought Acme")
    assert set(memory.delete(one).reworded) == {edge.id for edge in edges}
    facts = {memory.edges.get(edge.id).fact for edge in edges}
    assert len(facts) == 2
    assert "Alice bought Acme" in facts
    assert in_no_row(memory, "secretly", "openly")


def test_its_vector_is_of_its_new_words(place, make_embedder):
    embedder = make_embedder()
    with Memory.open(place, embedder=embedder) as memory:
        one, _, edge = told_twice(memory)
        memory.delete(one)
        assert memory.edges.vectors([edge.id])[edge.id].tolist() == embedder.embed_query(QUOTE).tolist()
        memory.verify().raise_if_broken()


def test_a_new_text_in_the_same_commit_words_it(place, make_embedder):
    embedder = make_embedder()
    with Memory.open(place, embedder=embedder) as memory:
        with memory.write() as tx:
            one = tx.artifact(SECRET)
            alice, acme = tx.entity("Alice", "person", artifact=one), tx.entity("Acme", "company", artifact=one)
            edge = tx.edge(alice, "bribed into", acme, artifact=one, fact="Alice was bribed into Acme")
        with memory.write() as tx:
            two = tx.artifact(PLAIN)
            tx.restate(edge, two, quote=QUOTE)
            tx.delete([one])
        assert memory.edges.get(edge.id).fact == QUOTE
        assert memory.edges.vectors([edge.id])[edge.id].tolist() == embedder.embed_query(QUOTE).tolist()


def test_an_embedder_that_is_away_leaves_the_vector_for_later(place, make_embedder, caplog):
    embedder = make_embedder()
    with Memory.open(place, embedder=embedder) as memory:
        one, _, edge = told_twice(memory)
        embed = embedder.embed

        def away(_texts):
            raise ConnectionError("the model is away")

        embedder.embed = away
        memory.delete(one)
        assert "no vector yet" in caplog.text
        assert memory.edges.get(edge.id).embedder is None
        memory.verify().raise_if_broken()
        embedder.embed = embed
        assert memory.embed_missing() == 1
        assert memory.edges.vectors([edge.id])[edge.id].tolist() == embedder.embed_query(QUOTE).tolist()


@pytest.mark.parametrize("kept", [False, True])
def test_what_is_kept_without_a_source_keeps_its_words(place, kept):
    with Memory.open(place, unsupported="keep" if kept else "delete") as memory:
        with memory.write() as tx:
            one = tx.artifact(SECRET)
            alice, acme = tx.entity("Alice", "person", artifact=one), tx.entity("Acme", "company", artifact=one)
            edge = tx.edge(alice, "bribed into", acme, artifact=one, fact="Alice was bribed into Acme")
        memory.delete(one)
        found = [each.fact for each in memory.edges.many([edge.id])]
        assert found == (["Alice was bribed into Acme"] if kept else [])
