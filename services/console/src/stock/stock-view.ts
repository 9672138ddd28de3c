import { z } from 'zod'
import { type Level, type MovementType, PRODUCTS_SHOWN, ProductsView } from '../products/product-view.ts'
import { enveloped, INVENTORY, type OperatorCalls } from '../service-calls/operator-calls.ts'

/** The movements that operators make, with the labels of their buttons. */
export const MOVEMENTS: Readonly<Record<MovementType, string>> = {
  receive: 'Receive',
  count: 'Count',
  transfer: 'Transfer',
  ship: 'Ship',
  adjust: 'Adjust',
}
export const MOVEMENT_TYPES = ['receive', 'count', 'transfer', 'ship', 'adjust'] as const satisfies MovementType[]

const Location = z.looseObject({ id: z.int(), code: z.string(), name: z.string(), active: z.boolean() })
/** A location in the form of inventory (inventory reference: Locations). */
export type Location = z.infer<typeof Location>
/** Sorted by id. */
export const LocationsView: z.ZodType<readonly Location[]> = enveloped(z.array(Location))
export const LocationView: z.ZodType<Location> = enveloped(Location)

const Movement = z.looseObject({
  id: z.int(),
  productId: z.int(),
  type: z.string(),
  onHandDelta: z.int(),
  reservedDelta: z.int(),
  onHandAfter: z.int(),
  reason: z.string().nullable(),
  reference: z.string().nullable(),
  createdAt: z.string(),
  sku: z.string(),
  location: z.string(),
})
/** A ledger row of stock with names (inventory reference: Ledger rows). */
export type Movement = z.infer<typeof Movement>
/** Newest first. */
export const MovementsView: z.ZodType<readonly Movement[]> = enveloped(z.array(Movement))

const Reservation = z.looseObject({
  id: z.int(),
  productId: z.int(),
  locationId: z.int(),
  quantity: z.int(),
  remaining: z.int(),
  status: z.enum(['active', 'committed', 'released', 'expired']),
  reference: z.string().nullable(),
  expiresAt: z.string().nullable(),
  createdAt: z.string(),
})
/** A reservation in the form of inventory (inventory reference: Reservations). */
export type Reservation = z.infer<typeof Reservation>
const ListedReservation = Reservation.extend({ sku: z.string(), location: z.string() })
export type ListedReservation = z.infer<typeof ListedReservation>
export const ReservationsView: z.ZodType<readonly ListedReservation[]> = enveloped(z.array(ListedReservation))
export const ReservationView: z.ZodType<Reservation> = enveloped(Reservation)

export const STOCK_PAGES = [
  ['/stock', 'Levels'],
  ['/stock/low', 'Low stock'],
  ['/movements', 'Movements'],
  ['/reservations', 'Reservations'],
  ['/locations', 'Locations'],
] as const

export function locationPath(id: number): string {
  return `/locations/${id}`
}

const LOCATIONS_MAX = 500

/** Reads the locations for forms, by id. */
export async function readLocations(calls: OperatorCalls): Promise<readonly Location[]> {
  return (await calls.read('inventory', INVENTORY.locations, LocationsView, { limit: LOCATIONS_MAX })).value
}

/** Returns `undefined` if the product does not exist. */
export async function findProduct(
  calls: OperatorCalls,
  sku: string,
): Promise<{ readonly id: number; readonly sku: string } | undefined> {
  const { value } = await calls.read('inventory', INVENTORY.products, ProductsView, {
    ...PRODUCTS_SHOWN,
    sku,
    limit: 1,
  })
  return value[0]
}

const LevelView = enveloped(z.looseObject({ onHand: z.int(), reserved: z.int(), available: z.int() }))

/** All quantities are 0 if there was never any stock. */
export async function readLevel(
  calls: OperatorCalls,
  productId: number,
  locationId: number,
): Promise<Pick<Level, 'onHand' | 'reserved' | 'available'>> {
  return (await calls.read('inventory', `/stock/${productId}/${locationId}`, LevelView)).value
}
