import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { MovementType } from '../movements/movement.ts'
import type { ReservationStatus } from '../reservations/reservation.ts'

/** What happens to stock, counted. */
export interface StockMetrics {
  countMovement(type: MovementType): void
  /** Reservations that have come to be so. */
  countReservation(status: ReservationStatus, count?: number): void
}

export function createStockMetrics(meter: Metrics['meter']): StockMetrics {
  const movements = meter.createCounter('inventory_movements_total', { description: 'Movements of stock by type' })
  const reservations = meter.createCounter('inventory_reservations_total', {
    description: 'Reservations by what they have become',
  })
  return {
    countMovement: (type) => movements.add(1, { type }),
    countReservation: (status, count = 1) => reservations.add(count, { status }),
  }
}
