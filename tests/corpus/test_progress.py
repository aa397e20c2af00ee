from barrow.corpus.progress import Progress


def test_nobody_has_to_listen() -> None:
    progress = Progress()
    progress.on_plan("Reading", 10)
    progress.on_bytes(10)
