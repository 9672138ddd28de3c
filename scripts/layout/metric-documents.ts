import {
  type DocumentedMetric,
  METRICS_DOCUMENT,
  readMetricsDocument,
} from '../../bench/src/drills/alerts/documented-metrics.ts'
import { type Problem, productionFiles, type Rule, type SourceTree } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** The code makes exactly the metrics of docs/observability.md, with the same name, type and service. */
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

/** A metric as the code makes it. */
interface Instrument {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** The service that makes the metric, or `all services`. */
  readonly owner: string
  readonly path: string
  readonly line: number
}

const CREATE = /^create(?:Observable)?(Counter|UpDownCounter|Gauge|Histogram)$/

/** Every call of `createCounter`, `createObservableGauge` and so on below packages and services, also those without a name. */
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
