"""What is finished of a run, on disk as it finishes: `journal.jsonl`, from which an interrupted run is resumed."""
