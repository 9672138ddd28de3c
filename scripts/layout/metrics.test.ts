import { describe, expect, it } from 'vitest'
import { findInstruments, metricDocuments, metricQueries, namesOf } from './metrics.ts'
import { problemsOf, treeOfShop } from './shop-tree.ts'

describe('metricQueries', () => {
  const document = 'docs/observability.md'
  const runbook = {
    [document]:
      '### Metrics of shop\n\n| `shop_sold_total` | counter | `kind` | sales |\n' +
      '| `shop_wait_seconds` | histogram | `kind` | waits |\n\n### NoSales\n\nSell more.\n',
  }
  const path = 'deploy/docker/prometheus/rules.yml'
  const ruleTests = 'deploy/docker/prometheus/rules.test.yml'

  const rules = (alert: string, expr: string, page = 'docs/observability.md#nosales') => ({
    [path]: `groups: [{ name: all, rules: [{ alert: ${alert}, expr: '${expr}', annotations: { runbook: ${page} } }] }]\n`,
    [ruleTests]: 'tests: [{ alert_rule_test: [{ alertname: NoSales }] }]\n',
  })

  it.each([
    ['sum by (kind) (rate(shop_sold_total{job="shop"}[5m])) < 1 or up{instance="a"} == 0', []],
    ['histogram_quantile(0.9, sum by (le) (rate(shop_wait_seconds_bucket{job="shop",kind="a",le="1"}[5m]))) > 1', []],
    ['shop_wait_seconds_sum / shop_wait_seconds_count > 1', []],
    ['rate(shop_lost_total[5m]) > 0', ['asks for shop_lost_total, which no service has']],
    ['shop_sold_total{size="l"} > 0', ['asks shop_sold_total for size']],
    ['up{kind="l"} == 0', ['asks up for kind']],
    ['sum by (size) (shop_sold_total) > 0', ['groups by size']],
    ['shop_sold_total_bucket > 0', ['asks for shop_sold_total_bucket, which no service has']],
    ['shop_wait_seconds > 0', ['asks for shop_wait_seconds, which no service has']],
  ])('finds in an alert on %s the problems %j', async (expr, problems) => {
    expect(await problemsOf(metricQueries, { ...runbook, ...rules('NoSales', expr) })).toEqual(
      problems.map((problem) => `${path} NoSales ${problem}`),
    )
  })

  it('refuses a panel of a dashboard that asks for what is not there', async () => {
    const dashboard = {
      panels: [
        { title: 'Row' },
        { title: 'Up', targets: [{ expr: 'up' }] },
        { title: 'Sales', targets: [{ expr: 'shop_lost_total' }] },
      ],
    }
    const file = 'deploy/docker/grafana/dashboards/shop.json'
    expect(await problemsOf(metricQueries, { ...runbook, [file]: JSON.stringify(dashboard) })).toEqual([
      `${file} "Sales" asks for shop_lost_total, which no service has`,
    ])
  })

  const missing = `${path} NoSales has no runbook: a section of its name in ${document}`

  it('refuses an alert that names another page than its runbook', async () => {
    const files = { ...runbook, ...rules('NoSales', 'up == 0', 'docs/observability.md#sales') }
    expect(await problemsOf(metricQueries, files)).toEqual([missing])
  })

  it('refuses an alert whose runbook is not written', async () => {
    const files = { ...rules('NoSales', 'up == 0'), [document]: '### NoSale\n' }
    expect(await problemsOf(metricQueries, files)).toEqual([missing])
  })

  it('refuses an alert without a test', async () => {
    const files = { ...runbook, ...rules('NoSales', 'up == 0'), [ruleTests]: 'tests: [{ alertname: NoSalesAtAll }]\n' }
    expect(await problemsOf(metricQueries, files)).toEqual([`${ruleTests} does not try NoSales`])
  })

  it.each([
    ['up', ['up'], []],
    ['up == 0 or absent(up{job="auth"})', ['up', 'up job'], []],
    [
      'sum by (job) (rate(a_total{x=~"5..",y!="}"}[2m])) / on (job) sum(b{z="1"} offset 1h) > 1e3 * 0.5',
      ['a_total x y', 'b z'],
      ['job', 'job'],
    ],
    [
      'histogram_quantile(0.99, sum by (job, le) (rate(t_seconds_bucket[$__rate_interval])))',
      ['t_seconds_bucket'],
      ['job', 'le'],
    ],
    ['time() - max without (instance) (a) > bool 8 * 86400', ['a'], ['instance']],
    ['1 - inf', [], []],
  ])('finds in %j the metrics with their labels %j, and the groupings %j', (expression, selectors, groupings) => {
    const names = namesOf(expression)
    expect(names.selectors.map(({ metric, labels }) => [metric, ...labels].join(' '))).toEqual(selectors)
    expect(names.groupings).toEqual(groupings)
  })

  it.each(['', 'sum by (job (up', 'up == ', 'rate(a[2 minutes])'])('refuses what is not PromQL: %j', (expression) => {
    expect(() => namesOf(expression)).toThrow('not PromQL')
  })
})

describe('metricDocuments', () => {
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
})
