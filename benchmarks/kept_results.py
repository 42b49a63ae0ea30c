"""Results of a solver that is called within other code, to certify them when no clock runs."""


class Kept:
    """While open, keep the results of a solver that is called inside; `certify(result, *arguments)` certifies one.

    at_once   certify each when it is there: results of a solver object are stale after its next change
    """

    def __init__(self, owner, name, certify=lambda found, *arguments: found.check(), at_once=False):
        self.owner, self.name, self.certify, self.at_once = owner, name, certify, at_once
        self.waiting, self.checked = [], 0

    def __enter__(self):
        self.plain = getattr(self.owner, self.name)

        def kept(*arguments, **settings):
            found = self.plain(*arguments, **settings)
            self.waiting.append((found, *arguments))
            if self.at_once:
                self.check()
            return found

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
