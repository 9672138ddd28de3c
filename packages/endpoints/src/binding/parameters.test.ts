import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { p } from './parameters.ts'

const uuid = '6BA7B810-9dad-11d1-80b4-00c04fd430c8'

describe('accepts', () => {
  it.each([
    ['int', p.int(), ['0', '-1', '9007199254740991', 7, -7], [0, -1, 9_007_199_254_740_991, 7, -7]],
    ['int with bounds', p.int({ min: 1, max: 3 }), ['1', 3], [1, 3]],
    ['number', p.number(), ['0', '-1.5', '1e3', '2E-2', 1.5], [0, -1.5, 1_000, 0.02, 1.5]],
    ['true', p.bool(), ['true', '1', 'YES', 'on', 'T', 'y', true], Array(7).fill(true)],
    ['false', p.bool(), ['false', '0', 'No', 'OFF', 'f', 'n', false], Array(7).fill(false)],
    ['list', p.list(p.int()), ['1', '1,2', ['1', '2,3'], [1, 2], 1], [[1], [1, 2], [1, 2, 3], [1, 2], [1]]],
    [
      'list of objects',
      p.list(z.object({ a: z.int() })),
      [{ a: 1 }, [{ a: 1 }, { a: 2 }]],
      [[{ a: 1 }], [{ a: 1 }, { a: 2 }]],
    ],
    ['list unsplit', p.list(z.string(), { split: false }), ['a,b', ['a,b', 'c']], [['a,b'], ['a,b', 'c']]],
    [
      'date',
      p.date(),
      ['2026-01-31T12:00:00Z', '2026-01-31t13:00:00.5+01:00', '2026-01-31'],
      [new Date('2026-01-31T12:00:00Z'), new Date('2026-01-31T12:00:00.5Z'), new Date('2026-01-31T00:00:00Z')],
    ],
    ['uuid', p.uuid(), [uuid], [uuid]],
    ['oneOf', p.oneOf('a', 'b'), ['a', 'b'], ['a', 'b']],
  ])('converts each accepted form of %s to its value', (_name, schema, given, expected) => {
    expect(given.map((value) => schema.parse(value))).toEqual(expected)
  })
})

describe('rejects', () => {
  it.each([
    [
      'int',
      p.int(),
      [
        '1e3',
        '0x10',
        ' 1',
        '+1',
        '01',
        '1.0',
        '',
        '-0x',
        '9007199254740992',
        1.5,
        2 ** 53,
        true,
        null,
        undefined,
        '１',
      ],
    ],
    ['int with bounds', p.int({ min: 1, max: 3 }), ['0', 4]],
    [
      'number',
      p.number(),
      ['NaN', 'Infinity', '', '0x10', '.5', '1.', '+1', '1e999', Number.NaN, Number.POSITIVE_INFINITY, true],
    ],
    ['number with bounds', p.number({ min: 0, max: 1 }), ['-0.1', 1.1]],
    ['bool', p.bool(), [' ', 'maybe', 'truee', 1, 0, null]],
    ['list', p.list(p.int()), ['', '1,,2', 'a', [true], true, {}, null, Array(1_001).fill('1'), '1,'.repeat(1_001)]],
    [
      'date',
      p.date(),
      ['2026-02-30', '2026-1-31', '2026-02-30T00:00:00Z', '2026-01-31T12:00:00', '2026-01-31T25:00:00Z', 0, ''],
    ],
    ['uuid', p.uuid(), ['', uuid.slice(1), `${uuid}0`, 'z'.repeat(36)]],
    ['oneOf', p.oneOf('a', 'b'), ['', 'A', 'c', 1]],
  ])('refuses every other form of %s', (_name, schema, given) => {
    expect(given.filter((value) => schema.safeParse(value).success)).toEqual([])
  })
})

it.each([
  [p.int({ min: 1 }), 'x', 'must be a whole number'],
  [p.int({ min: 1 }), '0', 'must be at least 1'],
  [p.number({ max: 1 }), '2', 'must be at most 1'],
  [p.bool(), 'x', 'must be true or false'],
  [p.date(), 'x', 'must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z'],
  [p.uuid(), 'x', 'must be a UUID'],
  [p.oneOf('a', 'b'), 'x', 'must be one of a, b'],
])('says of a wrong value what it must be, without repeating it', (schema, value, message) => {
  expect(schema.safeParse(value).error?.issues.map((issue) => issue.message)).toEqual([message])
})

it('accepts lists of 1,000 items', () => {
  expect(p.list(p.int()).parse(Array(1_000).fill('1'))).toHaveLength(1_000)
})

it('takes an object as the only item of a list without reading its length, which may be a getter', () => {
  const asked = {
    get length(): never {
      throw new Error('asked')
    },
  }
  expect(p.list(p.int()).safeParse(asked).error?.issues).toEqual([
    { code: 'invalid_type', expected: 'number', path: [0], message: 'must be a whole number' },
  ])
})
