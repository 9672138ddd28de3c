import * as common from '@trestle/common/commands/operator-command.ts'
import { numberOption } from '@trestle/common/commands/operator-command.ts'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { Database } from '@trestle/database/connect.ts'
import { type Command, Option } from 'commander'
import type { z } from 'zod'
import type { InventoryTables } from '../database.ts'
import { getLocationId, getOnlyCode } from '../locations/location-repository.ts'
import type { Movement } from '../movements/movement.ts'
import { LineBody } from '../movements/movement-body.ts'
import { findMovement, listMovements, type MovementFilters } from '../movements/movement-repository.ts'
import { getProductId } from '../products/product-repository.ts'
import { type PlaceNames, QUANTITY_MAX } from '../stock/level.ts'
import { type LevelFilters, listLevels, listNamed, type NamedLevel } from '../stock/level-repository.ts'
import { type MoveStockByNameInput, moveStockByName, type StockPlace } from '../use-cases/move-stock.ts'

type StockCommand = common.OperatorCommand<Database<InventoryTables>>

export function stockCommand(operator: common.Operator<Database<InventoryTables>>): Command {
  const description = 'what is in stock and where: list, history, receive, adjust, count and transfer'
  const group = common.commandGroup(operator, 'stock', description, commands)
  return group.addHelpText('after', '\nThe API ships and reserves stock: /movements and /reservations.')
}

const ROWS_MAX = 1_000
const ROWS = 100

const LIMIT_OPTION = numberOption('--limit <rows>', `how many rows, 1 to ${ROWS_MAX}`, {
  max: ROWS_MAX,
  usual: ROWS,
})
const REASON_OPTION = ['--reason <text>', 'why'] as const
const REFERENCE_OPTION = [
  '--reference <text>',
  'a document by which the movement can be found, such as an order',
] as const
const PLACE_OPTIONS: NonNullable<StockCommand['options']> = [
  ['--location <code>', 'where; needed as soon as there are several locations'],
  REFERENCE_OPTION,
]

const commands: readonly StockCommand[] = [
  {
    usage: 'list',
    description: 'list levels of stock, by product and location',
    options: [
      ['--sku <sku>', 'of this product alone'],
      ['--location <code>', 'at this location alone'],
      numberOption(
        '--below <quantity>',
        'only levels, each of one location, with less than this available; products never received have none',
        { min: 0, max: QUANTITY_MAX },
      ),
      LIMIT_OPTION,
    ],
    run: list,
  },
  {
    usage: 'history <sku>',
    description: 'show what happened to the stock of a product, newest first: quantities afterwards (and changes)',
    options: [['--location <code>', 'at this location alone'], LIMIT_OPTION],
    run: showHistory,
  },
  {
    usage: 'receive <sku> <quantity>',
    description: 'add what has come in',
    options: [...PLACE_OPTIONS, REASON_OPTION],
    run: (database, input) => moveLine(database, input, { type: 'receive', quantity: numberOf(input.words[1]) }),
  },
  {
    usage: 'adjust <sku> <delta>',
    description: 'add or take off, such as -2 for what broke; --reason says why',
    options: [...PLACE_OPTIONS, new Option('--reason <text>', 'why').makeOptionMandatory()],
    run: (database, input) => moveLine(database, input, { type: 'adjust', delta: numberOf(input.words[1]) }),
  },
  {
    usage: 'count <sku> <quantity>',
    description: 'set the quantity on hand to what was counted',
    options: [
      ...PLACE_OPTIONS,
      REASON_OPTION,
      ['--expect <quantity>', 'refuse unless this quantity is on hand before'],
    ],
    run: (database, input) =>
      moveLine(database, input, {
        type: 'count',
        quantity: numberOf(input.words[1]),
        ...(input.options.expect === undefined ? {} : { expectedOnHand: numberOf(input.options.expect) }),
      }),
  },
  {
    usage: 'transfer <sku> <quantity>',
    description: 'take from one location, and add to another',
    options: [
      new Option('--from <code>', 'the location that stock leaves').makeOptionMandatory(),
      new Option('--to <code>', 'the location where stock arrives').makeOptionMandatory(),
      REFERENCE_OPTION,
      REASON_OPTION,
    ],
    run: transfer,
  },
]

async function list(
  { db }: Database<InventoryTables>,
  { options: { sku, location, below, limit }, format }: common.CommandInput,
): Promise<object> {
  const filters: LevelFilters = {
    productId: sku === undefined ? undefined : await getProductId(db, String(sku)),
    locationId: location === undefined ? undefined : await getLocationId(db, String(location)),
    below: below === undefined ? undefined : Number(below),
  }
  const levels = await listNamed(db, await listLevels(db, filters, { after: undefined, limit: Number(limit) }))
  return format === 'json' ? levels : levels.map(describeLevel)
}

/** Returns the movements as in the API, with SKU and location code. */
async function showHistory(
  { db }: Database<InventoryTables>,
  { words: [sku = ''], options: { location, limit }, format }: common.CommandInput,
): Promise<object> {
  const filters: MovementFilters = {
    productId: await getProductId(db, sku),
    locationId: location === undefined ? undefined : await getLocationId(db, String(location)),
  }
  const movements = await listMovements(db, filters, { after: 0, limit: Number(limit) })
  const named = await listNamed(db, movements)
  return format === 'json' ? named : named.map(describeMovement)
}

function describeMovement({ createdAt, type, location, actor, reason, reference, ...movement }: Movement & PlaceNames) {
  const { onHandAfter, onHandDelta, reservedAfter, reservedDelta } = movement
  return {
    createdAt,
    type,
    location,
    onHand: withChange(onHandAfter, onHandDelta),
    reserved: withChange(reservedAfter, reservedDelta),
    actor,
    reason,
    reference,
  }
}

/** Formats a quantity, with its change if it is not zero: `8 (-2)`. */
function withChange(after: number, change: number): string {
  if (change === 0) return String(after)
  return `${after} (${change > 0 ? '+' : ''}${change})`
}

const MEMBER_NAMES: Readonly<Record<string, string>> = {
  quantity: 'the quantity',
  delta: 'the delta',
  reason: '--reason',
  reference: '--reference',
  expectedOnHand: '--expect',
}

async function moveLine(
  database: Database<InventoryTables>,
  input: common.CommandInput,
  line: object,
): Promise<object> {
  const { location } = input.options
  const toLine = lineReader(input, ({ productId, locationIds: [locationId] }) => ({ ...line, productId, locationId }))
  const locations = [location === undefined ? await getOnlyCode(database.db) : String(location)]
  return operate(database, input, { locations, toLine })
}

/** @throws Error if both locations are the same, and the errors of `moveStockByName` */
async function transfer(database: Database<InventoryTables>, input: common.CommandInput): Promise<object> {
  const locations = [String(input.options.from), String(input.options.to)]
  if (locations[0] === locations[1]) throw new Error('--to: must be another location than --from')
  const line = { type: 'transfer', quantity: numberOf(input.words[1]) }
  const toLine = lineReader(input, ({ productId, locationIds: [fromLocationId, toLocationId] }) => {
    return { ...line, productId, fromLocationId, toLocationId }
  })
  return operate(database, input, { locations, toLine })
}

/**
 * Returns a function that reads a line from a command's values, by the rules of POST /movements.
 * @throws Error for an invalid value, immediately and before products and locations are looked up
 */
function lineReader(
  { options: { reason, reference } }: common.CommandInput,
  toMembers: (place: StockPlace) => object,
): MoveStockByNameInput['toLine'] {
  const toLine = (place: StockPlace) => readValues(LineBody, { ...toMembers(place), reason, reference }, MEMBER_NAMES)
  toLine({ productId: 1, locationIds: [1, 2] })
  return toLine
}

async function operate(
  database: Database<InventoryTables>,
  { words: [sku = ''], options: { expect }, format }: common.CommandInput,
  order: Omit<MoveStockByNameInput, 'sku'>,
): Promise<object> {
  const place = `of ${sku} are available at ${order.locations[0]}`
  const { moved, levels } = await moveStockByName(database, { ...order, sku }).catch((error: unknown) =>
    explain(error, { expectedOnHand: expect, place }),
  )
  if (format === 'json') return moved
  const movements = await Promise.all(moved.ids.map((id) => findMovement(database.pools, id)))
  const rows = levels.map((level, at) => ({
    movement: moved.ids[at],
    ...describeLevel(level),
    onHand: withChange(level.onHand, movements[at]?.onHandDelta ?? 0),
  }))
  const [first = {}, ...others] = rows
  return others.length === 0 ? first : rows
}

/** @throws Error with the available quantity if the refusal contains it; otherwise the original error */
function explain(
  error: unknown,
  { expectedOnHand, place }: { readonly expectedOnHand: unknown; readonly place: string },
): never {
  if (!(error instanceof HttpError)) throw error
  const { available, current, reserved } = error.details
  const text = error.message.replace(/\.$/, '')
  if (current !== undefined) throw new Error(`${current} are on hand, not ${expectedOnHand}`, { cause: error })
  if (available === undefined) throw error
  if (reserved !== undefined) throw new Error(`${text}; ${reserved} are reserved`, { cause: error })
  throw new Error(`${text}: ${available} ${place}`, { cause: error })
}

/** Returns NaN for a text that is not a number. Every schema refuses NaN. */
function numberOf(text: unknown): number {
  return /^[+-]?\d{1,16}$/.test(String(text)) ? Number(text) : Number.NaN
}

function describeLevel({ sku, location, onHand, reserved, available, updatedAt }: NamedLevel) {
  return { sku, location, onHand, reserved, available, updatedAt }
}

/**
 * Validates values by the schema of the corresponding request.
 * @param names the argument or option of each member
 * @throws Error that names the argument or option of the first refused member
 */
export function readValues<Schema extends z.ZodType>(
  schema: Schema,
  values: object,
  names: Readonly<Record<string, string>>,
): z.output<Schema> {
  const read = schema.safeParse(values)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const member = String(issue?.path[0] ?? '')
  throw new Error(`${names[member] ?? member}: ${issue?.message ?? 'is not valid'}`)
}
