import { expect, it } from 'vitest'
import { orderResults } from './ordered-results.ts'

it.each([
  [[], [undefined, undefined, undefined]],
  [[{ item: 2, verdict: 'done' }], [undefined, 'DONE', undefined]],
  [
    [
      { item: 3, verdict: 'done' },
      { item: 1, verdict: 'gone' },
    ],
    ['GONE', undefined, 'DONE'],
  ],
])('orderResults puts %j in the order of three items', (rows, expected) => {
  expect(orderResults(['a', 'b', 'c'], rows, ({ verdict }) => verdict.toUpperCase())).toEqual(expected)
})
