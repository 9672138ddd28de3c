import { expect, it } from 'vitest'
import { findInstruments } from './instruments.ts'
import { readSourceTree } from './source-tree.ts'
import { writeShop } from './test/shop-tree.ts'

const path = 'services/shop/src/sales.ts'
const findIn = (at: string, text: string) => findInstruments(readSourceTree(writeShop({ [at]: text })))
const of = (call: string) => `export const made = (meter, name, ...named) =>\n  ${call}\n`

it.each([
  ['createCounter', 'counter'],
  ['createObservableCounter', 'counter'],
  ['createUpDownCounter', 'gauge'],
  ['createObservableUpDownCounter', 'gauge'],
  ['createGauge', 'gauge'],
  ['createObservableGauge', 'gauge'],
  ['createHistogram', 'histogram'],
])('finds what %s makes, a %s', (create, type) => {
  expect(findIn(path, of(`meter.${create}('shop_sold', {})`))).toEqual({
    found: [{ name: 'shop_sold', type, owner: 'shop', path, line: 2 }],
    problems: [],
  })
})

it('takes a metric of a package for one of all services', () => {
  const shared = 'packages/database/src/pool.ts'
  expect(findIn(shared, of("meter.createGauge('open')"))).toEqual({
    found: [{ name: 'open', type: 'gauge', owner: 'all services', path: shared, line: 2 }],
    problems: [],
  })
})

it.each(['meter.createGauge(name)', 'meter.createGauge(`shop_sold`)', 'meter.createGauge(7)', 'meter.createGauge()'])(
  'refuses a name that no text in quotes gives: %s',
  (call) => {
    expect(findIn(path, of(call))).toEqual({
      found: [],
      problems: [{ path, line: 2, message: 'names a metric by something other than a text in quotes' }],
    })
  },
)

it.each([
  [path, 'meter.createGauge(...named)'],
  [path, "meter.createCounters('shop_sold')"],
  [path, "meter['createCounter']('shop_sold')"],
  ['services/shop/src/sales.test.ts', "meter.createCounter('shop_sold')"],
  ['scripts/sales.ts', "meter.createCounter('shop_sold')"],
])('finds nothing in %s: %s', (at, call) => {
  expect(findIn(at, of(call))).toEqual({ found: [], problems: [] })
})
