import { expect, it } from 'vitest'
import { namesOf } from './promql.ts'

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
])('reads the names of %j', (expression, selectors, groupings) => {
  const names = namesOf(expression)
  expect(names.selectors.map(({ metric, labels }) => [metric, ...labels].join(' '))).toEqual(selectors)
  expect(names.groupings).toEqual(groupings)
})

it.each(['', 'sum by (job (up', 'up == ', 'rate(a[2 minutes])'])('refuses what is not PromQL: %j', (expression) => {
  expect(() => namesOf(expression)).toThrow('not PromQL')
})
