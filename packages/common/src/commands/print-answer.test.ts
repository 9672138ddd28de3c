import { describe, expect, it } from 'vitest'
import { printAnswer } from './print-answer.ts'

const at = new Date('2026-01-02T03:04:05.678Z')

describe('printAnswer', () => {
  it('prints a list as a table with the members of all rows', () => {
    const rows = [
      { id: 'a', createdAt: at },
      { id: 'long', name: 'Ada', balance: 7n },
    ]
    expect(printAnswer(rows, 'text')).toEqual([
      'ID    CREATED AT                NAME  BALANCE',
      'a     2026-01-02T03:04:05.678Z  -     -',
      'long  -                         Ada   7',
    ])
  })

  it('prints an object line by line, and its lists of objects as tables', () => {
    const answer = {
      id: 'a',
      allTags: ['x', 'y'],
      orderLines: [{ line_no: 1 }, { line_no: 2 }],
      none: [],
      flat: { a: 1n },
    }
    expect(printAnswer(answer, 'text')).toEqual([
      'id        a',
      'all tags  ["x","y"]',
      'none      -',
      'flat      {"a":1}',
      '',
      'order lines:',
      'LINE NO',
      '1',
      '2',
    ])
  })

  it.each([
    [{ a: null, b: undefined, c: '', d: 0, e: false }, ['a  -', 'b  -', 'c  -', 'd  0', 'e  false']],
    [[], ['nothing']],
    ['eyJ\u001b', ['eyJ\\u{1b}']],
    [{ a: '\u001b[2J\u202e' }, ['a  \\u{1b}[2J\\u{202e}']],
  ])('prints %j for people', (answer, lines) => {
    expect(printAnswer(answer, 'text')).toEqual(lines)
  })

  it.each([
    [{ id: 'a', balance: 7n, at }, '{"id":"a","balance":7,"at":"2026-01-02T03:04:05.678Z"}'],
    [[{ id: '\u001b' }], '[{"id":"\\u001b"}]'],
    [[], '[]'],
  ])('prints one JSON document for programs', (answer, line) => {
    expect(printAnswer(answer, 'json', { columns: 1, hasColors: true })).toEqual([line])
  })
})
