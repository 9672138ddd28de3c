import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import { MOVEMENT_TYPES, type MovementType } from '../movements/movement.ts'
import { RESERVATION_STATUSES, type ReservationStatus } from '../reservations/reservation.ts'

/** What happens to stock, counted. */
export interface StockMetrics {
  countMovement(type: MovementType): void
  /** Reservations that have come to be so. */
  countReservation(status: ReservationStatus, count?: number): void
}

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
    countMovement: (type) => movements.add(1, { type }),
    countReservation: (status, count = 1) => reservations.add(count, { status }),
  }
}
