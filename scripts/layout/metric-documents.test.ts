import { expect, it } from 'vitest'
import { findInstruments, metricDocuments } from './metric-documents.ts'
import { problemsOf, treeOfShop } from './shop-tree.ts'

const code = 'services/shop/src/sales.ts'
const document = 'docs/observability.md'
const sold = "export const sold = (meter) =>\n  meter.createCounter('shop_sold_total', { description: 'x' })\n"
const rows = '### Metrics of shop\n\n| `shop_sold_total` | counter | `kind` | sales |\n'

it('accepts a metric with its row', async () => {
  expect(await problemsOf(metricDocuments, { [code]: sold, [document]: rows })).toEqual([])
  const all = rows.replace('of shop', 'of all services')
  expect(await problemsOf(metricDocuments, { [code]: sold, [document]: all })).toEqual([])
})

it('refuses a metric without a row', async () => {
  const problem = `${code}:2 ${document} does not list shop_sold_total`
  expect(await problemsOf(metricDocuments, { [code]: sold })).toEqual([problem])
  expect(await problemsOf(metricDocuments, { [code]: sold, [document]: '# Observability\n' })).toEqual([problem])
})

it('refuses a row that nothing measures, except those of the process', async () => {
  expect(await problemsOf(metricDocuments, { [document]: rows })).toEqual([
    `${document}:3 lists shop_sold_total, which nothing measures`,
  ])
  expect(await problemsOf(metricDocuments, { [document]: rows.replace('of shop', 'of the process') })).toEqual([])
})

it.each([
  ['createUpDownCounter', 'gauge'],
  ['createObservableUpDownCounter', 'gauge'],
  ['createGauge', 'gauge'],
  ['createObservableGauge', 'gauge'],
  ['createHistogram', 'histogram'],
])('refuses another type: %s', async (create, type) => {
  const text = sold.replace('createCounter', create)
  expect(await problemsOf(metricDocuments, { [code]: text, [document]: rows })).toEqual([
    `${document}:3 shop_sold_total is a ${type}`,
  ])
})

it('takes an observable counter for a counter', async () => {
  const text = sold.replace('createCounter', 'createObservableCounter')
  expect(await problemsOf(metricDocuments, { [code]: text, [document]: rows })).toEqual([])
})

it('refuses a row of another service', async () => {
  const other = rows.replace('of shop', 'of bank')
  expect(await problemsOf(metricDocuments, { [code]: sold, [document]: other })).toEqual([
    `${document}:3 shop_sold_total is of shop`,
  ])
  const file = 'packages/database/src/sales.ts'
  expect(await problemsOf(metricDocuments, { [file]: sold, [document]: rows })).toEqual([
    `${document}:3 shop_sold_total is of all services`,
  ])
})

it.each(['name', '`shop_total`', '7', ''])('refuses a metric that is named by %j', async (name) => {
  const text = `export const sold = (meter, name) => meter.createGauge(${name})\n`
  expect(await problemsOf(metricDocuments, { [code]: text })).toEqual([
    `${code}:1 names a metric by something other than a text in quotes`,
  ])
})

it('ignores a call that passes a name on', async () => {
  const text = 'export const sold = (meter, ...named) => meter.createGauge(...named)\n'
  expect(await problemsOf(metricDocuments, { [code]: text })).toEqual([])
})

const findIn = (at: string, text: string) => findInstruments(treeOfShop({ [at]: text }))
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
  expect(findIn(code, of(`meter.${create}('shop_sold', {})`))).toEqual({
    found: [{ name: 'shop_sold', type, owner: 'shop', path: code, line: 2 }],
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
    expect(findIn(code, of(call))).toEqual({
      found: [],
      problems: [{ path: code, line: 2, message: 'names a metric by something other than a text in quotes' }],
    })
  },
)

it.each([
  [code, 'meter.createGauge(...named)'],
  [code, "meter.createCounters('shop_sold')"],
  [code, "meter['createCounter']('shop_sold')"],
  ['services/shop/src/sales.test.ts', "meter.createCounter('shop_sold')"],
  ['scripts/sales.ts', "meter.createCounter('shop_sold')"],
])('finds nothing in %s: %s', (at, call) => {
  expect(findIn(at, of(call))).toEqual({ found: [], problems: [] })
})
