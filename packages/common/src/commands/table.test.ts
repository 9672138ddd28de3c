import { WriteStream } from 'node:tty'
import { describe, expect, it } from 'vitest'
import { printAnswer, printTable, terminalOf } from './table.ts'

const table = {
  head: ['ID', 'NAME', 'NOTE'],
  rows: [
    ['0b9f8a1c-id', 'Ada Lovelace', 'first of all programmers'],
    ['b', '岡本太郎', '-'],
  ],
}
const plain = (columns: number) => ({ columns, hasColors: false })

describe('printTable', () => {
  it('neither cuts nor colours what is not for a terminal', () => {
    expect(printTable(table)).toEqual([
      'ID           NAME          NOTE',
      '0b9f8a1c-id  Ada Lovelace  first of all programmers',
      'b            岡本太郎      -',
    ])
  })

  it.each([
    [51, '0b9f8a1c-id  Ada Lovelace  first of all programmers'],
    [47, '0b9f8a1c-id  Ada Lovelace  first of all progra…'],
    [35, '0b9f8a1c-id  Ada Lovelace  first o…'],
    [33, '0b9f8a1c-id  Ada Lovel…  first o…'],
    [5, '0b9f8a1c-id  Ada Lov…  first o…'],
  ])('cuts columns from the right on a terminal with %i columns, but never the first one', (columns, line) => {
    expect(printTable(table, plain(columns))[1]).toBe(line)
  })

  it('cuts a column that is wider than 24 before the others', () => {
    const rows = [['7', 'x'.repeat(60), 'delivered']]
    expect(printTable({ rows }, plain(50))).toEqual([`7  ${'x'.repeat(35)}…  delivered`])
    expect(printTable({ rows }, plain(38))).toEqual([`7  ${'x'.repeat(23)}…  delivered`])
    expect(printTable({ rows }, plain(37))).toEqual([`7  ${'x'.repeat(23)}…  deliver…`])
  })

  it('prints the heading bold where the terminal has colours', () => {
    const [head, first] = printTable(table, { columns: 80, hasColors: true })
    expect(head).toBe('\u001b[1mID           NAME          NOTE\u001b[22m')
    expect(first).toBe('0b9f8a1c-id  Ada Lovelace  first of all programmers')
  })
})

describe('terminalOf', () => {
  const terminal = (members: object): WriteStream => Object.assign(Object.create(WriteStream.prototype), members)

  it.each([
    [{ isTTY: false }, undefined],
    [
      { isTTY: true, columns: 120, hasColors: () => false },
      { columns: 120, hasColors: false },
    ],
    [
      { isTTY: true, columns: 0, hasColors: () => true },
      { columns: 80, hasColors: true },
    ],
  ])('reads the stream %o as the terminal %o', (members, expected) => {
    expect(terminalOf(terminal(members))).toEqual(expected)
  })
})

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
