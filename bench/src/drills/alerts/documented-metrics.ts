export const METRICS_DOCUMENT = 'docs/observability.md'

export interface DocumentedMetric {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  /** The owner in the heading: a service, `all services` or `the process`. */
  readonly owner: string
  /** From 1. */
  readonly line: number
}

const HEADING = /^###? (?:Metrics of (.+))?/
const ROW = /^\| `([a-z][a-z0-9_]*)` \| (counter|gauge|histogram) \|([^|]*)\|/

/** Reads the tables below headings like `### Metrics of auth`: `` | `name` | type | `label`, `label` | meaning | ``. */
export function readMetricsDocument(text: string): readonly DocumentedMetric[] {
  const metrics: DocumentedMetric[] = []
  let owner: string | undefined
  for (const [i, content] of text.split('\n').entries()) {
    const heading = HEADING.exec(content)
    if (heading) owner = heading[1]
    const row = ROW.exec(content)
    if (!row || owner === undefined) continue
    const [, name = '', type, labels = ''] = row
    metrics.push({
      name,
      type: type === 'histogram' ? type : type === 'counter' ? type : 'gauge',
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
      owner,
      line: i + 1,
    })
  }
  return metrics
}

const SERIES = /^([a-z][a-z0-9_]*)(?:\{(.*)\})? /
/** Metrics that the listener adds for Node.js and the process. The document names only some of them. */
const OF_THE_PROCESS = /^(nodejs|process)_/

/** Finds undocumented series of a service in Prometheus' text, as `name{labels}`. */
export function undocumentedSeries(
  printed: string,
  { document, service }: { readonly document: string; readonly service: string },
): readonly string[] {
  const metrics = readMetricsDocument(document).filter(({ owner }) => owner === service || owner === 'all services')
  const known = new Map(metrics.map((metric) => [metric.name, metric]))
  const strange = printed.split('\n').flatMap((line) => {
    const [, series, values = ''] = SERIES.exec(line) ?? []
    if (series === undefined || OF_THE_PROCESS.test(series)) return []
    const metric = known.get(series) ?? known.get(series.replace(/_(bucket|count|sum)$/, ''))
    const labels = [...values.matchAll(/(\w+)="/g)].map(([, label = '']) => label)
    const allowed = [...(metric?.labels ?? []), ...(metric?.type === 'histogram' ? ['le'] : [])]
    const isKnown = metric !== undefined && labels.every((label) => allowed.includes(label))
    return isKnown ? [] : [`${series}{${labels.join(',')}}`]
  })
  return [...new Set(strange)]
}
