"""Results of a solver that is called within other code, to certify them when no clock runs."""


class Kept:
    """While open, keep the results of a solver that is called inside, to certify them when no clock runs."""

    def __init__(self, module, name):
        self.module, self.name, self.waiting, self.checked = module, name, [], 0

    def __enter__(self):
        self.plain = getattr(self.module, self.name)

        def kept(*arguments, **settings):
            self.waiting.append(self.plain(*arguments, **settings))
            return self.waiting[-1]

        setattr(self.module, self.name, kept)
        return self

    def check(self):
        """Certify all results so far."""
        for result in self.waiting:
            result.check()
        self.checked += len(self.waiting)
        self.waiting.clear()

    def __exit__(self, *_):
        setattr(self.module, self.name, self.plain)
