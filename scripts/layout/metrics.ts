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
import { type Problem, productionFiles, type Rule, type SourceTree } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

const RULES = 'deploy/docker/prometheus/rules.yml'
const RULE_TESTS = 'deploy/docker/prometheus/rules.test.yml'

const Dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) })),
})
const Alert = z.object({ alert: z.string(), expr: z.string(), annotations: z.object({ runbook: z.string() }) })
const Rules = z.object({ groups: z.array(z.object({ rules: z.array(Alert) })) })

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

/** The labels that Prometheus adds to every series. */
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

interface Selector {
  readonly metric: string
  readonly labels: readonly string[]
}

/** The names in a PromQL expression, which are sufficient to look up its metrics. */
interface ExpressionNames {
  readonly selectors: readonly Selector[]
  /** The labels of `by (…)`, `on (…)` and so on. Some metric of the expression must have each label. */
  readonly groupings: readonly string[]
}

/** Variables that Grafana replaces by a duration before it sends the expression to Prometheus. */
const GRAFANA_DURATION = /\$__(?:rate_interval|interval|range)\b/g

/**
 * Returns the names in an expression, parsed with Prometheus' own grammar.
 * @throws Error if the expression is not PromQL
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

/** The code creates exactly the metrics in docs/observability.md, with the same name, type and service. */
export const metricDocuments: Rule = (tree) => {
  const { found, problems } = findInstruments(tree)
  const text = tree.files.find(({ path }) => path === METRICS_DOCUMENT)?.text ?? ''
  const documented = readMetricsDocument(text)
  return [
    ...problems,
    ...found.flatMap((instrument) => problemOf(instrument, documented)),
    ...documented
      .filter(({ name, owner }) => owner !== 'the process' && !found.some((instrument) => instrument.name === name))
      .map(({ name, line }) => ({ path: METRICS_DOCUMENT, line, message: `lists ${name}, which nothing measures` })),
  ]
}

function problemOf({ name, type, owner, path, line }: Instrument, documented: readonly DocumentedMetric[]): Problem[] {
  const row = documented.find((metric) => metric.name === name)
  if (row === undefined) return [{ path, line, message: `${METRICS_DOCUMENT} does not list ${name}` }]
  const place = { path: METRICS_DOCUMENT, line: row.line }
  if (row.type !== type) return [{ ...place, message: `${name} is a ${type}` }]
  if (row.owner !== owner && row.owner !== 'all services') return [{ ...place, message: `${name} is of ${owner}` }]
  return []
}

interface Instrument {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** The service that creates the metric, or `all services`. */
  readonly owner: string
  readonly path: string
  readonly line: number
}

const CREATE = /^create(?:Observable)?(Counter|UpDownCounter|Gauge|Histogram)$/

/** Finds all calls of `createCounter` and similar functions in packages and services, including calls without a name. */
export function findInstruments(tree: SourceTree): { found: readonly Instrument[]; problems: readonly Problem[] } {
  const found: Instrument[] = []
  const problems: Problem[] = []
  for (const file of productionFiles(tree, 'packages', 'services')) {
    if (!/\.create(Observable)?(UpDown)?(Counter|Gauge|Histogram)\(/.test(file.text)) continue
    const owner = /^services\/([^/]+)\//.exec(file.path)?.[1] ?? 'all services'
    visitSyntax(file, {
      CallExpression({ callee, arguments: [first], start }) {
        if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return
        const kind = CREATE.exec(callee.property.name)?.[1]
        // `createCounter(...named)` passes on the name of another call.
        if (kind === undefined || first?.type === 'SpreadElement') return
        const place = { path: file.path, line: lineAt(file.text, start) }
        if (first?.type !== 'Literal' || typeof first.value !== 'string') {
          problems.push({ ...place, message: 'names a metric by something other than a text in quotes' })
          return
        }
        const type = kind === 'Counter' ? 'counter' : kind === 'Histogram' ? 'histogram' : 'gauge'
        found.push({ name: first.value, type, owner, ...place })
      },
    })
  }
  return { found, problems }
}
