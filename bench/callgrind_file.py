"""Reads the output of callgrind with --dump-instr=yes --collect-jumps=yes: how often each
instruction was executed, each jump followed and each call made (Callgrind Format Specification, in
the manual of valgrind). Places are (object, address). Addresses are those in the object's ELF file.
If callgrind knows no object ("???"), they are those in the process."""

import collections
import re

UNKNOWN = "???"
NAMES = re.compile(r"(c?ob|c?f[lien]|jf[ilen]|fe|cfn|jfn)=(?:\((\d+)\))? ?(.*)")
# The table of name abbreviations of each keyword.
TABLES = {"ob": "object", "cob": "object", "fn": "function", "cfn": "function", "jfn": "function"}


class CallgrindFile:
    def __init__(self, lines):
        self.executed = collections.Counter()     # by place
        self.conditional = collections.Counter()  # times followed, by (from, to)
        self.jumps = collections.Counter()        # by (from, to), without those to other functions
        self.calls = collections.Counter()        # by (from, to), with jumps to other functions
        self.functions = {}                       # names by place
        self._names = {}
        self._object = self._function = UNKNOWN
        self._callee_object = self._callee = None
        self._address = 0
        self._pending_call = self._jump_follows = False
        for line in lines:
            self._read(line.rstrip("\n"))

    def _name(self, key, number, text):
        """Resolves an abbreviation: a name is given in full once, with its number, then only the
        number."""
        table = self._names.setdefault(TABLES.get(key, "file"), {})
        if number is None:
            return text
        if text:
            table[number] = text
        return table[number]

    def _position(self, text):
        """Parses a position: absolute, or relative to that of the last line."""
        if text == "*":
            return self._address
        if text[0] in "+-":
            return self._address + int(text)
        return int(text, 0)

    def _read(self, line):
        named = NAMES.fullmatch(line)
        if named:
            self._read_name(named[1], self._name(*named.groups()))
        elif line.startswith("calls="):
            count, target = line[len("calls="):].split()[:2]
            callee = (self._callee_object or self._object, self._position(target))
            self._pending_call = (callee, int(count))
            if self._callee:
                self.functions.setdefault(callee, self._callee)
            self._callee_object = self._callee = None
        elif line.startswith(("jump=", "jcnd=")):
            self._read_jump(line)
        elif line and line[0] in "0123456789+-*":
            self._read_cost(line.split())

    def _read_name(self, key, name):
        if key == "ob":
            self._object = name
        elif key == "fn":
            self._function = name
        elif key == "cob":
            self._callee_object = name
        elif key == "cfn":
            self._callee = name

    def _read_jump(self, line):
        """The position of the jump itself is in the next line."""
        count, target = line[len("jump="):].split()[:2]
        followed = int(count.partition("/")[0])
        kind = self.conditional if line.startswith("jcnd") else self.jumps
        self._jump_follows = (kind, (self._object, self._position(target)), followed)

    def _read_cost(self, words):
        self._address = self._position(words[0])
        place = (self._object, self._address)
        self.functions.setdefault(place, self._function)
        if self._jump_follows:
            kind, target, count = self._jump_follows
            kind[place, target] += count
            self._jump_follows = False
        elif self._pending_call:
            callee, count = self._pending_call
            self.calls[place, callee] += count
            self._pending_call = False
        else:
            self.executed[place] += int(words[-1]) if len(words) > 2 else 0
