import { globSync } from 'node:fs'
import type { SyntaxNode } from '@lezer/common'
import { parser } from '@prometheus-io/lezer-promql'
import { parse } from 'yaml'
import { z } from 'zod'
import {
  type DocumentedMetric,
  METRICS_DOCUMENT,
  readMetricsDocument,
} from '../../bench/src/drills/alerts/documented-metrics.ts'
import type { Problem, Rule } from './source-tree.ts'

const RULES = 'deploy/docker/prometheus/rules.yml'
const RULE_TESTS = 'deploy/docker/prometheus/rules.test.yml'

const Dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) })),
})
const Alert = z.object({ alert: z.string(), expr: z.string(), annotations: z.object({ runbook: z.string() }) })
const Rules = z.object({ groups: z.array(z.object({ rules: z.array(Alert) })) })

/** An expression and its place. */
interface Written {
  readonly path: string
  readonly what: string
  readonly expr: string
}

/** Dashboards and alerts use existing metrics and labels. Every alert has a runbook and a test. */
export const metricQueries: Rule = ({ root, files, read }) => {
  const document = files.find(({ path }) => path === METRICS_DOCUMENT)?.text ?? ''
  const alerts = Rules.parse(parse(read(RULES) ?? '') ?? { groups: [] }).groups.flatMap(({ rules }) => rules)
  const panels = globSync('deploy/docker/grafana/dashboards/*.json', { cwd: root }).flatMap((path) =>
    Dashboard.parse(JSON.parse(read(path) ?? '')).panels.flatMap(({ title, targets }) =>
      targets.map(({ expr }): Written => ({ path, what: `"${title}"`, expr })),
    ),
  )
  const written = [...panels, ...alerts.map(({ alert, expr }): Written => ({ path: RULES, what: alert, expr }))]
  const metrics = readMetricsDocument(document)
  const tests = read(RULE_TESTS) ?? ''
  return [
    ...written.flatMap((each) => problemsOf(each, metrics)),
    ...alerts.flatMap(({ alert, annotations }): Problem[] => [
      ...(annotations.runbook === `${METRICS_DOCUMENT}#${alert.toLowerCase()}` && document.includes(`\n### ${alert}\n`)
        ? []
        : [{ path: RULES, message: `${alert} has no runbook: a section of its name in ${METRICS_DOCUMENT}` }]),
      ...(new RegExp(`alertname: ${alert}\\b`).test(tests)
        ? []
        : [{ path: RULE_TESTS, message: `does not try ${alert}` }]),
    ]),
  ]
}

/** Labels that Prometheus adds to every series. */
const ADDED_LABELS = ['job', 'instance']

function problemsOf({ path, what, expr }: Written, metrics: readonly DocumentedMetric[]): readonly Problem[] {
  const { selectors, groupings } = namesOf(expr)
  const labelsOf = (metric: string): readonly string[] | undefined => {
    if (metric === 'up') return ADDED_LABELS
    const plain = metrics.find(({ name, type }) => name === metric && type !== 'histogram')
    if (plain) return [...ADDED_LABELS, ...plain.labels]
    const part = /^(.+)_(?:bucket|count|sum)$/.exec(metric)?.[1]
    const histogram = metrics.find(({ name, type }) => name === part && type === 'histogram')
    return histogram && [...ADDED_LABELS, ...histogram.labels, 'le']
  }
  const problem = (message: string): Problem => ({ path, message: `${what} ${message}` })
  const every = new Set(selectors.flatMap(({ metric }) => labelsOf(metric) ?? []))
  return [
    ...selectors.flatMap(({ metric, labels }) => {
      const own = labelsOf(metric)
      if (own === undefined) return [problem(`asks for ${metric}, which no service has`)]
      return labels.filter((label) => !own.includes(label)).map((label) => problem(`asks ${metric} for ${label}`))
    }),
    ...groupings.filter((label) => !every.has(label)).map((label) => problem(`groups by ${label}`)),
  ]
}

/** A metric that an expression reads, and the labels that its selector names. */
interface Selector {
  readonly metric: string
  readonly labels: readonly string[]
}

/** The names in a PromQL expression. They suffice to look the metrics up. */
interface ExpressionNames {
  readonly selectors: readonly Selector[]
  /** Labels of `by (…)`, `on (…)` and so on. Each must be a label of some metric of the expression. */
  readonly groupings: readonly string[]
}

/** Grafana replaces its variables by a duration before Prometheus sees the expression. */
const GRAFANA_DURATION = /\$__(?:rate_interval|interval|range)\b/g

/**
 * Reads the names of an expression with Prometheus' own grammar.
 * @throws Error when the expression is not PromQL
 */
export function namesOf(expression: string): ExpressionNames {
  const text = expression.replaceAll(GRAFANA_DURATION, '5m')
  const selectors: Selector[] = []
  const groupings: string[] = []
  parser.parse(text).iterate({
    enter({ type, node, from }) {
      if (type.isError) throw new Error(`not PromQL from character ${from + 1} on: ${expression}`)
      if (type.name === 'VectorSelector') selectors.push(readSelector(node, text))
      if (type.name === 'GroupingLabels') groupings.push(...namesBelow(node, 'LabelName', text))
    },
  })
  return { selectors, groupings }
}

function readSelector(node: SyntaxNode, text: string): Selector {
  const matchers = node.getChild('LabelMatchers')
  const labels = matchers?.getChildren('UnquotedLabelMatcher').flatMap((each) => namesBelow(each, 'LabelName', text))
  return { metric: namesBelow(node, 'Identifier', text).join(), labels: labels ?? [] }
}

function namesBelow(node: SyntaxNode, kind: string, text: string): readonly string[] {
  return node.getChildren(kind).map(({ from, to }) => text.slice(from, to))
}
