"""What is asked: for each kind of question the facts it rests on, its prompt, the answer's schema and how it is read.

A question is built from typed facts by a function `ask_...(facts) -> Question`. The prompt is a template in `llm/prompts`.
"""
