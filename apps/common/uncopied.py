"""Objects that hold threads, locks or open files, and so cannot be copied."""


class Uncopied:
    """A base class whose objects raise TypeError from `copy`, `deepcopy` and `pickle`, instead of sharing a state.

    instead   what to use, for the message
    """

    instead = "create another one"

    def __reduce_ex__(self, protocol):
        raise TypeError(f"{type(self).__name__} cannot be copied or pickled; {self.instead}")
