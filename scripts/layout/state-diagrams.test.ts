import { expect, it } from 'vitest'
import { problemsOf, shop } from './shop-tree.ts'
import { stateDiagrams } from './state-diagrams.ts'

const path = 'services/shop/src/items/README.md'
const arrows = ['[*] --> open: an order', 'open --> open: another item', 'open --> paid: a payment', 'paid --> [*]']
const diagramOf = (lines: readonly string[]) =>
  ['```mermaid', 'stateDiagram-v2', ...lines.map((line) => `  ${line}`), '```', ''].join('\n')
const diagram = diagramOf(arrows)
const head = '| Event on an order | none | open | paid |\n|---|---|---|---|\n'
const order = '| an order | open | another order | another order |\n'
const item = '| another item | refused: 404 | open, or refused when `paid` | refused: 409, not open; ignored |\n'
const payment = '| a payment | no such order | waits, otherwise paid: open no more | ignored |\n'
const table = head + order + item + payment

const service = 'services/shop/README.md'
const listed = `${shop[service]}\n## State machines\n\nEach is a diagram: [items](src/items/README.md).\n`

const problemsIn = (text: string, index = listed) => problemsOf(stateDiagrams, { [path]: text, [service]: index })

it('accepts a diagram with the arrows of its table, and a table on a page without diagrams', async () => {
  expect(await problemsIn(`${diagram}\n${table}`)).toEqual([])
  expect(await problemsIn(table)).toEqual([])
})

it('compares the second diagram with the second table', async () => {
  const twice = diagramOf(['state "being filled" as open', '[*] --> open: an order']) + diagram
  const once = '| Event | none | open |\n|---|---|---|\n| an order | open | ignored |\n\n'
  expect(await problemsIn(twice + once + table)).toEqual([])
})

it('reads a column of several states', async () => {
  const lines = ['[*] --> open: an order', 'open --> paid: a payment', 'open --> lost: a loss']
  const shared =
    '| Event | none | open | paid or lost |\n|---|---|---|---|\n' +
    '| an order | open | ignored | open |\n| an end | ignored | paid or lost | ignored |\n'
  expect(await problemsIn(`${diagramOf(lines)}\n${shared}`)).toEqual([
    `${path}:10 says paid --> open, which the diagram in line 2 lacks`,
    `${path}:10 says lost --> open, which the diagram in line 2 lacks`,
  ])
})

it.each([
  [
    'an arrow that the table lacks',
    diagramOf([...arrows, 'paid --> open: lost']),
    table,
    [7, 'draws paid --> open, which the table in line 10 lacks'],
  ],
  [
    'no arrow of the table',
    diagramOf(arrows.filter((arrow) => !arrow.startsWith('open --> open'))),
    table,
    [11, 'says open --> open, which the diagram in line 2 lacks'],
  ],
  [
    'an end that the table lacks',
    diagramOf([...arrows.slice(0, 3), 'paid --> [*]: clean-up']),
    table,
    [6, 'draws paid --> none, which the table in line 9 lacks'],
  ],
  ['a state without a column', diagramOf([...arrows, '[*] --> lost']), table, [10, 'has no column for "lost"']],
  [
    'a state in another',
    diagramOf([...arrows, 'state paid {']),
    table,
    [7, 'is no arrow between two states with a label that Mermaid reads'],
  ],
  [
    'a label with a semicolon',
    diagramOf([...arrows, 'paid --> open: lost; found']),
    table,
    [7, 'is no arrow between two states with a label that Mermaid reads'],
  ],
  [
    'a cell without a next state',
    diagram,
    `${table}| a loss | ignored | lost | ignored |\n`,
    [14, '"lost" names no next state'],
  ],
  ['no table', diagram, '', [2, 'has no table of its events']],
  ['two tables', diagram, `${table}\n${table}`, [15, 'has no diagram']],
] as const)('refuses a diagram with %s', async (_case, drawn, rows, [line, message]) => {
  expect(await problemsIn(`${drawn}\n${rows}`)).toEqual([`${path}:${line} ${message}`])
})

it.each([
  ['no section of state machines', shop[service]],
  ['a section that lacks the link', `${shop[service]}\n## State machines\n\nNone.\n`],
  ['the link in another section', `${shop[service]}\n## State machines\n\n## Files\n\n[items](src/items/README.md)\n`],
])('refuses a diagram below a README of the service with %s', async (_case, index) => {
  expect(await problemsIn(`${diagram}\n${table}`, index)).toEqual([
    `${service} has no link to src/items/README.md below "## State machines"`,
  ])
})
