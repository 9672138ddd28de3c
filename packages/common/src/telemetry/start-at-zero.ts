import type { Attributes, Counter } from '@opentelemetry/api'

/** Shows series of a counter before anything is counted: `increase()` does not see the step from nothing to 1. */
export function startAtZero<C extends Counter>(counter: C, series: readonly Attributes[]): C {
  for (const attributes of series) counter.add(0, attributes)
  return counter
}
