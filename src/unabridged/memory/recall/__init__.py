"""The read path: lanes, fusion, evidence, packing; and answers, timelines and measures made with it."""
