import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Lanes } from '@trestle/database/lanes.ts'
import { findOverdueSeconds } from './reservation-repository.ts'

/** Reports as `inventory_reservation_overdue_seconds` for how long the most overdue reservation has kept its stock too long. */
export function observeOverdue(meter: Metrics['meter'], lanes: Lanes): void {
  const gauge = meter.createObservableGauge('inventory_reservation_overdue_seconds', {
    description: 'How long the most overdue reservation has kept its stock beyond its end',
  })
  gauge.addCallback(async (result) => result.observe(await findOverdueSeconds(lanes)))
}
