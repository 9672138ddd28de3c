import type { Histogram } from '@opentelemetry/api'
import type { Acquirer } from './acquirer.ts'

/** The same acquirer, each call of which is timed as `payments_acquirer_seconds{acquirer,call}`, however it ends. */
export function measuredAcquirer(name: string, acquirer: Acquirer, seconds: Histogram): Acquirer {
  const measured =
    <Given extends readonly unknown[], Answer>(call: keyof Acquirer, ask: (...given: Given) => Promise<Answer>) =>
    async (...given: Given): Promise<Answer> => {
      const started = performance.now()
      try {
        return await ask(...given)
      } finally {
        seconds.record((performance.now() - started) / 1_000, { acquirer: name, call })
      }
    }
  return {
    authorize: measured('authorize', acquirer.authorize),
    inquire: measured('inquire', acquirer.inquire),
    reverse: measured('reverse', acquirer.reverse),
    submit: measured('submit', acquirer.submit),
    events: measured('events', acquirer.events),
    acknowledge: measured('acknowledge', acquirer.acknowledge),
  }
}
