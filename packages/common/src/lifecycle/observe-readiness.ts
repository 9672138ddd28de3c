import type { Meter } from '@opentelemetry/api'
import type { Readiness } from './readiness.ts'

/** Reports the checks of `GET /ready` as `service_ready{check}`: 1 for a check that passes. */
export function observeReadiness(meter: Meter, readiness: Pick<Readiness, 'report'>): void {
  const gauge = meter.createObservableGauge('service_ready', {
    description: '1 for each part of being ready for requests that is in order',
  })
  gauge.addCallback(async (result) => {
    for (const [check, isInOrder] of Object.entries(await readiness.report())) {
      result.observe(isInOrder ? 1 : 0, { check })
    }
  })
}
