import type { Attributes, Counter } from '@opentelemetry/api'

/**
 * Starts each series of a counter at 0. Otherwise the first increment would be lost, because `increase()` ignores the step from
 * no value to 1.
 */
export function startAtZero<C extends Counter>(counter: C, series: readonly Attributes[]): C {
  for (const attributes of series) counter.add(0, attributes)
  return counter
}
