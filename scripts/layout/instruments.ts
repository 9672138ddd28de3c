import { type Problem, productionFiles, type SourceTree } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** A metric as the code makes it. */
export interface Instrument {
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
