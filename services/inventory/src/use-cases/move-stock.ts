import type { Pools } from '@trestle/database/pools.ts'
import { countBelowReserved } from '../errors.ts'
import type { Answered, Caller, Refused } from '../idempotency/idempotent-request.ts'
import { getLocationId } from '../locations/location-repository.ts'
import { actionOf, effectOf, type MovedStock, type MovementLine } from '../movements/movement.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import { type Audited, type AuditedChange, auditedLines } from '../operators/operator-change.ts'
import { type ChangeDeps, runAuditedChange } from '../operators/operator-change-repository.ts'
import { getProductId } from '../products/product-repository.ts'
import { retryAfterExpiry } from '../reservations/reservation-repository.ts'
import type { StockMetrics } from '../reservations/stock-metrics.ts'
import { type Level, type MoveRefusal, refuseStock } from '../stock/level.ts'
import { findLevel, type NamedLevel } from '../stock/level-repository.ts'

/**
 * Carries out the lines of a request, all or none (reference: Movements). Two requests cannot take the same stock, because
 * PostgreSQL checks each line under the lock of its level. Where too little is available, due reservations expire between two
 * tries, in transactions of their own, so that no request waits for their levels while a try waits for others.
 * @throws
 * - productNotFound or locationNotFound when a line names a product or a location that does not exist
 * - locationInactive when stock would come into an inactive location
 * - insufficientStock when less is available than leaves; insufficientStockForLine for a later line
 * - countBelowReserved when less is counted than is reserved
 * - staleQuantity when the quantity on hand is not the expected one; staleQuantityForLine for a later line
 * - quantityAboveLimit when more than 10^12 would be on hand
 * - keyMismatch when the Idempotency-Key was used for another request
 * - keyRunning while the first request of the key runs
 */
export async function moveStock(
  deps: ChangeDeps & { readonly stockMetrics: StockMetrics },
  { caller, lines, operatorChange }: Audited & { readonly caller: Caller; readonly lines: readonly MovementLine[] },
): Promise<Answered<MovedStock>> {
  const { pools, stockMetrics } = deps
  const move = (own: ChangeDeps) => callMoveStock(own.pools, caller, lines)
  const answer = await retryAfterExpiry(deps, () =>
    runAuditedChange(deps, operatorChange, move, ({ verdict, body }) =>
      verdict === 'done' ? auditMovements(body, lines) : undefined,
    ),
  )
  if (answer.body === null) return refuseLine(pools, lines, answer)
  if (answer.verdict === 'done') for (const { type } of lines) stockMetrics.countMovement(type)
  return answer
}

function auditMovements({ id, ids }: MovedStock, lines: readonly MovementLine[]): AuditedChange {
  const productIds = [...new Set(lines.map(({ productId }) => productId))]
  const changes = { ids, lines: auditedLines(lines) }
  return { action: actionOf(lines), object: { kind: 'movement', id }, productIds, changes }
}

async function refuseLine(pools: Pools, lines: readonly MovementLine[], answer: Refused<MoveRefusal>): Promise<never> {
  const line = lines.length > 1 ? answer.line : null
  const refused = lines[answer.line ?? 0]
  if (answer.verdict === 'insufficient-stock' && refused?.type === 'count') {
    const { available, reserved } = await readLevelNow(pools, refused)
    throw countBelowReserved({ details: { available, reserved, ...(line === null ? {} : { line }) } })
  }
  const quantity = line && refused ? await readQuantityNow(pools, refused, answer) : answer.quantity
  refuseStock({ ...answer, line, quantity })
}

/**
 * The quantity for the refusal of a later line. PostgreSQL refused the line after earlier lines, which are now undone, so the
 * quantity that it saw does not exist.
 */
async function readQuantityNow(
  pools: Pools,
  line: MovementLine,
  { verdict, quantity }: Refused<MoveRefusal>,
): Promise<number | null> {
  if (quantity === null) return quantity
  const { onHand, available } = await readLevelNow(pools, line)
  return verdict === 'stale-quantity' ? onHand : available
}

async function readLevelNow(
  pools: Pools,
  line: MovementLine,
): Promise<Pick<Level, 'onHand' | 'reserved' | 'available'>> {
  const found = await findLevel(pools, { productId: line.productId, locationId: effectOf(line).locationId })
  return typeof found === 'string' ? { onHand: 0, reserved: 0, available: 0 } : found.level
}

/** A movement of the stock of one product, by SKU and codes of locations. */
export interface MoveStockByNameInput {
  readonly sku: string
  /** The codes of the locations: one, or for a transfer the source and the destination. */
  readonly locations: readonly string[]
  /** The line without its product and location. */
  readonly toLine: (place: StockPlace) => MovementLine
}

/** Ids in place of names, the locations in the order of the codes. */
export interface StockPlace {
  readonly productId: number
  readonly locationIds: readonly number[]
}

/** The movement that was written, and the level of each location after it, in the order of the codes. */
export interface StockMovedByName {
  readonly moved: MovedStock
  readonly levels: readonly NamedLevel[]
}

/** Only the service has metrics; a command has no counters. */
const UNCOUNTED: StockMetrics = { countMovement: () => {}, countReservation: () => {} }
const OPERATOR = 'operator'

/**
 * Moves stock as POST /movements does, for an operator who knows products by their sku and locations by their code.
 * @throws Error when there is no such product or location, and as `moveStock` says productNotFound, locationNotFound,
 * locationInactive, insufficientStock, countBelowReserved, staleQuantity, quantityAboveLimit
 */
export async function moveStockByName(
  { db, pools }: ChangeDeps,
  { sku, locations, toLine }: MoveStockByNameInput,
): Promise<StockMovedByName> {
  const productId = await getProductId(db, sku)
  const locationIds: number[] = []
  for (const code of locations) locationIds.push(await getLocationId(db, code))
  const line = toLine({ productId, locationIds })
  const { body } = await moveStock(
    { db, pools, stockMetrics: UNCOUNTED },
    { caller: { actor: OPERATOR, idempotentRequest: undefined }, lines: [line] },
  )
  const levels = locations.flatMap((location, at) => {
    const level = body.levels.find(({ locationId }) => locationId === locationIds[at])
    return level === undefined ? [] : [{ ...level, sku, location }]
  })
  return { moved: body, levels }
}
