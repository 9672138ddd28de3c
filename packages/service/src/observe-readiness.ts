import type { Meter } from '@opentelemetry/api'

interface Readiness {
  /** Every check by name: whether it is in order. */
  report(): Promise<Readonly<Record<string, boolean>>>
}

/** Reports what `GET /ready` looks at as `service_ready{check}`: 1 where it is in order. */
export function observeReadiness(meter: Meter, readiness: Readiness): void {
  const gauge = meter.createObservableGauge('service_ready', {
    description: '1 for each part of being ready for requests that is in order',
  })
  gauge.addCallback(async (result) => {
    for (const [check, isInOrder] of Object.entries(await readiness.report())) {
      result.observe(isInOrder ? 1 : 0, { check })
    }
  })
}
