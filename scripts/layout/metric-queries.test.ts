import { expect, it } from 'vitest'
import { metricQueries, namesOf } from './metric-queries.ts'
import { problemsOf } from './shop-tree.ts'

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
