import type { SyntaxNode } from '@lezer/common'
import { parser } from '@prometheus-io/lezer-promql'

/** A metric that an expression reads, and the labels that its selector names. */
export interface Selector {
  readonly metric: string
  readonly labels: readonly string[]
}

/** The names in a PromQL expression. They suffice to look the metrics up. */
export interface ExpressionNames {
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
