import fc from 'fast-check'

/** A JSON number that JavaScript cannot represent, written unchanged. */
export interface Literal {
  readonly literal: string
}

export function isLiteral(value: unknown): value is Literal {
  return typeof value === 'object' && value !== null && Object.keys(value).join() === 'literal'
}

/** Texts that have broken other servers. None may look like an internal name of Trestle, because answers may repeat it. */
const TEXTS = [
  ...[
    '',
    ' ',
    '\t',
    '\n',
    '\r\nx-injected: 1',
    '\0',
    'a\0b',
    '\ud800',
    'a\udfffb',
    '\u{1f4a9}',
    '\u202e',
    '\ufeff',
    '\u2028',
  ],
  ...[
    '0',
    '-0',
    '-1',
    '1',
    '00',
    '1.0',
    '1e3',
    '0x10',
    '9.95',
    '+5',
    '9007199254740992',
    '99999999999999999999',
    'NaN',
  ],
  ...[
    'true',
    'false',
    'null',
    'undefined',
    'yes',
    '[]',
    '{}',
    '"',
    "'",
    "' OR '1'='1",
    "'; DROP TABLE x; --",
    '%',
    '_',
    '\\',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '../../../etc/passwd',
    '..',
    '.',
    '/',
    '//',
    '?',
    '#',
    '&=&',
  ],
  ...[
    '%00',
    '%zz',
    '%',
    '%F0%9F%92%A9',
    '%ff',
    '{{7*7}}',
    '#{7*7}',
    '<script>alert(1)</script>',
    'javascript:alert(1)',
  ],
  ...[
    '2026-02-30',
    '0000-00-00',
    '9999-12-31T23:59:59.999999999+14:00',
    '2026-12-31T23:59:60Z',
    '-271821-04-20',
    '1e400',
  ],
  ...['a@b', 'a@b@c', '@', `${'x'.repeat(65)}@shop.example`, '+', '+0', '+99999999999999999', 'é'.normalize('NFD')],
  ...[
    'http://169.254.169.254/',
    'file:///etc/passwd',
    'http://[::1]/',
    'http://u:p@shop.example',
    'http://',
    'https://\u{1f4a9}',
  ],
  ...[
    'EUR',
    'XXX',
    'eur',
    'x'.repeat(256),
    'x'.repeat(5_000),
    '\u{1f4a9}'.repeat(300),
    '('.repeat(100),
    'a,'.repeat(200),
  ],
  ...[
    '00000000-0000-0000-0000-000000000000',
    '0'.repeat(24),
    'f'.repeat(24),
    'eyJhbGciOiJub25lIn0.e30.',
    'AAAA',
    '=',
    '====',
  ],
]
const NUMBERS = [0, -0, -1, 1, 1.5, 1e-7, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 2 ** 63, 1e21, 1e300, 999_999_999_999]
/** None contains the digits of a test card, because a repeated value must not look like a leaked card. */
const LITERALS = ['1e400', '-1e400', '123456789012345678901234567890', '0.3000000000000000000001', '1E+2', '-0.0']

const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'id',
  '',
  ' ',
  '0',
  'a[b',
  'a.b',
  '$where',
  '\0',
  '\ud800',
  'length',
]

/** A name of a member or parameter that is dangerous for servers, or a random name. */
export const hostileName = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...NAMES) }, fc.string({ maxLength: 20 }))

/** Text that is dangerous for servers, or random text. */
export const hostileText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS) },
  fc.string({ unit: 'binary', maxLength: 40 }),
)

/** A value of another type than expected. */
const hostileLeaf: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 5, arbitrary: hostileText },
  fc.constantFrom<unknown>(null, true, false, ...NUMBERS),
  fc.constantFrom(...LITERALS).map((literal): Literal => ({ literal })),
  fc.double(),
)

/** Objects and arrays of such values. Some are far too deep or too long. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: hostileLeaf },
  {
    weight: 2,
    arbitrary: fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        hostileLeaf,
        fc.array(tie('value'), { maxLength: 3 }),
        fc.array(fc.tuple(hostileName, tie('value')), { maxLength: 3 }).map(toObject),
      ),
    })).value,
  },
  fc.constantFrom(19, 31, 63, 64, 65, 200, 1_000).map(nested),
  fc.constantFrom(101, 1_001, 10_000).map((length) => Array.from({ length }, () => 0)),
  // An object instead of a length. Code that compares lengths must check the type first.
  fc.constantFrom('length', 'size').map((name) => ({ [name]: { toString: 0, valueOf: 0 } })),
)

/** Sets own members, even `__proto__`. */
function toObject(members: readonly (readonly [string, unknown])[]): object {
  return Object.fromEntries(members)
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = level % 2 ? { a: value } : [value]
  return value
}
