r"""The subject of a certificate in Java's form (RFC 2253), which the mapping rules of Kafka's operators expect.

    Certificate    := SEQUENCE { TBSCertificate, ... }
    TBSCertificate := SEQUENCE { [0] version?, serialNumber, signature, issuer, validity, subject, ... }
    subject        := SEQUENCE of SET of SEQUENCE { OBJECT IDENTIFIER, value }

The last part of the name comes first. Parts are separated by `,`, the attributes of one part by `+`. A type without a
keyword in RFC 2253 is written as its number, and its value as `#` and the encoding in hexadecimal. Nothing here
verifies the certificate: OpenSSL has accepted it before.

Source: RFC 5280, RFC 2253; sun.security.x509.AVA.toRFC2253String, behind X500Principal.getName().
"""

from collections.abc import Iterator

MAX_NAME_LENGTH = 512
"""Most characters of a name that is mapped: the time in which a mapping rule fails to match can grow with a power of
it. The attributes that certificates usually have take 300 at most."""

_SEQUENCE, _SET, _OBJECT_IDENTIFIER, _VERSION = 0x30, 0x31, 0x06, 0xA0
_STRINGS = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
"""UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString."""

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_ESCAPED = frozenset(',=+<>#;"\\')
_SPACES = " \r"


class BadCertificate(Exception):
    """The certificate cannot be read; the text is for the log."""


def read_subject(certificate: bytes) -> str:
    """Return the name of the subject of a certificate in DER.

    Raises:
        BadCertificate: `certificate` is no certificate, or the name is not in Unicode.
    """
    try:
        (to_be_signed, *_) = _parts(_only(certificate, _SEQUENCE))
        fields = [(tag, content) for tag, content, _ in _parts(_content(to_be_signed, _SEQUENCE))]
        if fields[0][0] == _VERSION:
            fields = fields[1:]
        tag, subject = fields[4]
        if tag != _SEQUENCE:
            raise BadCertificate("has no subject")
        names = [_relative_name(content) for _, content, _ in _parts(subject)]
    except (IndexError, ValueError):
        raise BadCertificate("is not well-formed") from None
    return ",".join(reversed(names))


_Part = tuple[int, bytes, bytes]
"""Tag, content, and the whole encoding with tag and length."""


def _relative_name(content: bytes) -> str:
    attributes = []
    for attribute in _parts(content):
        kind, value = _parts(_content(attribute, _SEQUENCE))
        attributes.append(_attribute(_dotted(_content(kind, _OBJECT_IDENTIFIER)), value))
    return "+".join(attributes)


def _attribute(kind: str, value: _Part) -> str:
    tag, content, whole = value
    keyword = _KEYWORDS.get(kind)
    if keyword is None or tag not in _STRINGS:
        return f"{keyword or kind}=#{whole.hex()}"
    try:
        text = content.decode("utf-8")  # For each kind of string, as Java does.
    except UnicodeDecodeError:
        raise BadCertificate(f"has {keyword} in another encoding than UTF-8") from None
    escaped = "".join(f"\\{char}" if char in _ESCAPED else char for char in text).replace("\0", "\\00")
    inner = escaped.strip(_SPACES)
    lead = escaped[: len(escaped) - len(escaped.lstrip(_SPACES))]
    trail = escaped[len(lead) + len(inner) :]
    return f"{keyword}={_each_escaped(lead)}{inner}{_each_escaped(trail)}"


def _each_escaped(spaces: str) -> str:
    return "".join(f"\\{space}" for space in spaces)


def _dotted(content: bytes) -> str:
    """Return an object identifier as numbers with dots (X.690, section 8.19)."""
    numbers, number = [], 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _only(data: bytes, tag: int) -> bytes:
    (part,) = _parts(data)
    return _content(part, tag)


def _content(part: _Part, tag: int) -> bytes:
    if part[0] != tag:
        raise ValueError
    return part[1]


def _parts(data: bytes) -> Iterator[_Part]:
    """Yield the values that follow one another (X.690, section 8.1): one byte of tag, length, content."""
    position = 0
    while position < len(data):
        start, tag, length = position, data[position], data[position + 1]
        position += 2
        if length & 0x80:
            size = length & 0x7F
            if not 1 <= size <= 4:
                raise ValueError
            length = int.from_bytes(data[position : position + size], "big")
            position += size
        end = position + length
        if end > len(data):
            raise ValueError
        yield tag, data[position:end], data[start:end]
        position = end
