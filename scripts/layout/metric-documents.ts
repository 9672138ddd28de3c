import { type DocumentedMetric, METRICS_DOCUMENT, readMetricsDocument } from '../../bench/src/documented-metrics.ts'
import { findInstruments, type Instrument } from './instruments.ts'
import type { Problem, Rule } from './source-tree.ts'

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
