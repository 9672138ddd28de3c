import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { MOVEMENT_TYPES, type MovementType } from '../movements/movement.ts'
import { RESERVATION_STATUSES, type ReservationStatus } from './reservation.ts'
import { findOverdueSeconds } from './reservation-repository.ts'

export interface StockMetrics {
  readonly countMovement: (type: MovementType) => void
  /** @param status the new status of the reservations */
  readonly countReservation: (status: ReservationStatus, count?: number) => void
}

/** Starts each series at 0, so that `increase()` includes the first increment. */
export function createStockMetrics(meter: Metrics['meter']): StockMetrics {
  const movements = startAtZero(
    meter.createCounter('inventory_movements_total', { description: 'Movements of stock by type' }),
    MOVEMENT_TYPES.map((type) => ({ type })),
  )
  const reservations = startAtZero(
    meter.createCounter('inventory_reservations_total', { description: 'Reservations by what they have become' }),
    RESERVATION_STATUSES.map((status) => ({ status })),
  )
  return {
    countMovement: (type: MovementType): void => movements.add(1, { type }),
    countReservation: (status: ReservationStatus, count = 1): void => reservations.add(count, { status }),
  }
}

/** Reports for how long the most overdue reservation has been due, as `inventory_reservation_overdue_seconds`. */
export function observeOverdue(meter: Metrics['meter'], pools: Pools): void {
  const gauge = meter.createObservableGauge('inventory_reservation_overdue_seconds', {
    description: 'How long the most overdue reservation has kept its stock beyond its end',
  })
  gauge.addCallback(async (result) => result.observe(await findOverdueSeconds(pools)))
}
