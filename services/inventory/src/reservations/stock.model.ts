import { effectOf, type MovementLine } from '../movements/movement.ts'
import { type MoveRefusal, QUANTITY_MAX, type ReserveRefusal } from '../stock/level.ts'
import type { NewReservation, ReservationStatus } from './reservation.ts'
import type { CommitRefusal } from './reservation-repository.ts'

// The rules of stock in TypeScript: a model of the SQL functions.

/** `remaining` is in units of stock. */
export interface ModelReservation {
  readonly productId: number
  readonly locationId: number
  readonly remaining: number
  readonly status: ReservationStatus
  readonly isDue: boolean
}

export interface Stock {
  readonly products: ReadonlySet<number>
  /** Locations, with `true` if stock may come in. */
  readonly locations: ReadonlyMap<number, boolean>
  /** The levels by `levelKey`. A missing level has no stock. */
  readonly levels: ReadonlyMap<string, Quantities>
  readonly reservations: ReadonlyMap<number, ModelReservation>
}

/** The result of a SQL function, with the same `quantity` and `line`. */
export type Outcome<Refusal> =
  | { readonly verdict: 'done'; readonly stock: Stock }
  | { readonly verdict: Refusal; readonly quantity?: number | undefined; readonly line?: number | undefined }

interface ModelPlace {
  readonly productId: number
  readonly locationId: number
}

/** Returns the key of a level in `Stock.levels`: product and location. */
export const levelKey = ({ productId, locationId }: ModelPlace): string => `${productId} at ${locationId}`

function quantitiesAt({ levels }: Stock, place: ModelPlace): Quantities {
  return levels.get(levelKey(place)) ?? { onHand: 0, reserved: 0 }
}

/** Carries out all lines in order, or none of them. */
export function moveStock(stock: Stock, lines: readonly MovementLine[]): Outcome<MoveRefusal> {
  let moved = stock
  for (const [line, each] of lines.entries()) {
    const outcome = moveLine(moved, each)
    if (outcome.verdict !== 'done') return { ...outcome, line }
    moved = outcome.stock
  }
  return { verdict: 'done', stock: moved }
}

function moveLine(stock: Stock, line: MovementLine): Outcome<MoveRefusal> {
  const effect = effectOf(line)
  const { locationId, toLocationId, counted } = effect
  const from = { productId: line.productId, locationId }
  const { onHand } = quantitiesAt(stock, from)
  if (counted !== undefined || line.expectedOnHand !== undefined) {
    const missing = findMissing(stock, from)
    if (missing) return { verdict: missing }
    if (line.expectedOnHand !== undefined && line.expectedOnHand !== onHand) {
      return { verdict: 'stale-quantity', quantity: onHand }
    }
  }
  const onHandDelta = effect.onHandDelta ?? (counted ?? 0) - onHand
  const left = changeLevel(stock, from, { onHand: onHandDelta, reserved: 0 })
  if (left.verdict !== 'done' || toLocationId === undefined) return left
  return changeLevel(left.stock, { ...from, locationId: toLocationId }, { onHand: -onHandDelta, reserved: 0 })
}

/** The model of `reserve`. The id comes from the database. */
export function reserve(
  stock: Stock,
  id: number,
  { expiresInSeconds: _, quantity, ...place }: NewReservation,
): Outcome<ReserveRefusal> {
  const outcome = changeLevel(stock, place, { onHand: 0, reserved: quantity })
  // The cast is safe: only a change of the quantity on hand can have the other refusals.
  if (outcome.verdict !== 'done') return outcome as Outcome<ReserveRefusal>
  const { productId, locationId } = place
  return done(outcome.stock, id, { productId, locationId, remaining: quantity, status: 'active', isDue: false })
}

/**
 * The model of `commit`. Without a quantity, commits the whole remaining quantity.
 * @throws Error if less stock is on hand than reserved, which no request can cause
 */
export function commit(stock: Stock, id: number, quantity: number | undefined): Outcome<CommitRefusal> {
  const reservation = stock.reservations.get(id)
  if (!reservation) return { verdict: 'not-found' }
  const { status, isDue, remaining } = reservation
  if (status !== 'active') return { verdict: status }
  if (isDue) return { verdict: 'expired' }
  const taken = quantity ?? remaining
  if (taken > remaining) return { verdict: 'above-remaining', quantity: remaining }
  const left = remaining - taken
  const after = { ...reservation, remaining: left, status: left === 0 ? 'committed' : 'active' } as const
  return done(giveBack(stock, reservation, { onHand: -taken, reserved: -taken }), id, after)
}

/**
 * Releases the remaining quantity. Returns `undefined` if there is nothing to release.
 * @throws Error if less stock is on hand than reserved, which no request can cause
 */
export function release(stock: Stock, id: number): Stock | undefined {
  return stock.reservations.get(id)?.isDue ? undefined : endReservation(stock, id, 'released')
}

export function expire(stock: Stock): Stock {
  const due = [...stock.reservations].filter(([, { status, isDue }]) => status === 'active' && isDue)
  return due.reduce((left, [id]) => endReservation(left, id, 'expired') ?? left, stock)
}

/** Makes a reservation due. For an unknown id, returns the same stock. */
export function passTime(stock: Stock, id: number): Stock {
  const reservation = stock.reservations.get(id)
  if (!reservation) return stock
  return { ...stock, reservations: new Map(stock.reservations).set(id, { ...reservation, isDue: true }) }
}

function endReservation(stock: Stock, id: number, status: ReservationStatus): Stock | undefined {
  const reservation = stock.reservations.get(id)
  if (reservation?.status !== 'active') return undefined
  const back = giveBack(stock, reservation, { onHand: 0, reserved: -reservation.remaining })
  return { ...back, reservations: new Map(back.reservations).set(id, { ...reservation, remaining: 0, status }) }
}

/** @throws Error if the reserved stock is not on hand, which a reservation rules out */
function giveBack(stock: Stock, place: ModelPlace, deltas: Quantities): Stock {
  const outcome = changeLevel(stock, place, deltas)
  if (outcome.verdict !== 'done') throw new Error(`what is reserved is not there: ${outcome.verdict}`)
  return outcome.stock
}

function done(stock: Stock, id: number, reservation: ModelReservation): Outcome<never> {
  return { verdict: 'done', stock: { ...stock, reservations: new Map(stock.reservations).set(id, reservation) } }
}

function changeLevel(stock: Stock, place: ModelPlace, deltas: Quantities): Outcome<MoveRefusal> {
  if (deltas.onHand > 0) {
    const missing = findMissing(stock, place)
    if (missing) return { verdict: missing }
    if (!stock.locations.get(place.locationId)) return { verdict: 'location-inactive' }
  }
  const applied = applyMovement(quantitiesAt(stock, place), deltas)
  if (applied.verdict === 'above-limit') return applied
  if (applied.verdict === 'insufficient-stock') {
    const missing = findMissing(stock, place)
    return missing ? { verdict: missing } : { verdict: applied.verdict, quantity: applied.available }
  }
  return {
    verdict: 'done',
    stock: { ...stock, levels: new Map(stock.levels).set(levelKey(place), applied.quantities) },
  }
}

function findMissing({ products, locations }: Stock, { productId, locationId }: ModelPlace) {
  if (!products.has(productId)) return 'product-not-found'
  return locations.has(locationId) ? undefined : 'location-not-found'
}

/** In units. `reserved` is part of `onHand`. */
export interface Quantities {
  readonly onHand: number
  readonly reserved: number
}

/** The level after a movement, or the reason for a refusal. `available` is on hand less reserved. */
export type AppliedMovement =
  | { readonly verdict: 'done'; readonly quantities: Quantities }
  | { readonly verdict: 'insufficient-stock'; readonly available: number }
  | { readonly verdict: 'above-limit' }

/**
 * The model of the SQL function `apply_movement`, which changes a level (reference: Stock invariants). Overselling is impossible,
 * because the available quantity never falls below zero.
 */
function applyMovement({ onHand, reserved }: Quantities, deltas: Quantities): AppliedMovement {
  const after = { onHand: onHand + deltas.onHand, reserved: reserved + deltas.reserved }
  if (after.onHand > QUANTITY_MAX) return { verdict: 'above-limit' }
  if (after.onHand < after.reserved) return { verdict: 'insufficient-stock', available: onHand - reserved }
  return { verdict: 'done', quantities: after }
}
