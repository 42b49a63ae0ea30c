"""Results of a solver that is called within other code, to certify them when no clock runs."""


class Kept:
    """While open, keep the results of a solver that is called inside; `check(result, *arguments)` certifies one."""

    def __init__(self, owner, name, check=lambda found, *arguments: found.check()):
        self.owner, self.name, self.certify, self.waiting, self.checked = owner, name, check, [], 0

    def __enter__(self):
        self.plain = getattr(self.owner, self.name)

        def kept(*arguments, **settings):
            self.waiting.append((self.plain(*arguments, **settings), *arguments))
            return self.waiting[-1][0]

        setattr(self.owner, self.name, kept)
        return self

    def check(self):
        """Certify all results so far."""
        for found in self.waiting:
            self.certify(*found)
        self.checked += len(self.waiting)
        self.waiting.clear()

    def __exit__(self, *_):
        setattr(self.owner, self.name, self.plain)
