/** A metric that an expression reads, and the labels that its selector names. */
export interface Selector {
  readonly metric: string
  readonly labels: readonly string[]
}

/** What an expression of PromQL names: enough to look it up, not to run it. */
export interface ExpressionNames {
  readonly selectors: readonly Selector[]
  /** Labels of `by (…)`, `on (…)` and their kin, which must be ones of some metric of the expression. */
  readonly groupings: readonly string[]
}

const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g
const SELECTOR = /(?<![\w.$])([a-zA-Z_:][\w:]*)\s*(\(|\{[^}]*\})?/g
const LABEL = /([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)\s*"/g
const WORDS = new Set(['and', 'or', 'unless', 'bool', 'by', 'without', 'on', 'ignoring', 'inf', 'nan'])

/** Reads the names of an expression. */
export function namesOf(expression: string): ExpressionNames {
  const groupings = [...expression.matchAll(GROUPING)].flatMap(([, list = '']) => list.split(','))
  const bare = expression
    .replaceAll(GROUPING, ' ')
    .replaceAll(/\[[^\]]*\]/g, ' ')
    .replaceAll(/\boffset\s+\S+/g, ' ')
  const selectors = [...bare.matchAll(SELECTOR)].flatMap(([, metric = '', next = '']): Selector[] => {
    const isMetric = next !== '(' && !WORDS.has(metric.toLowerCase())
    return isMetric ? [{ metric, labels: [...next.matchAll(LABEL)].map(([, label = '']) => label) }] : []
  })
  return { selectors, groupings: groupings.map((label) => label.trim()).filter((label) => label !== '') }
}
