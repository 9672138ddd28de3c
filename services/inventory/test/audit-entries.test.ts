import { OPERATOR_ACTIONS } from '@trestle/operators/operator-roles.ts'
import { listCommands, listWritingRoutes, type Trace } from '@trestle/testing/list-writes.ts'
import { expect, it } from 'vitest'
import { otherCommands } from '../src/commands/other-commands.ts'

const entries = (...actions: string[]): Trace => ({ entries: actions })
const reason = (text: string): Trace => ({ reason: text })

const MOVEMENT = reason('moves stock. Each movement is a row with who made it, and is never changed')
const BY_TOKEN = reason(
  'changes a product or a location by a token. The row has its time; the token issuer knows its owner',
)
const STOCK = ['receive', 'count', 'transfer', 'ship', 'adjust'].map((type) => `operator.stock.${type}`)
const READ = reason('changes nothing')
const SCHEMA = reason('changes tables and functions. The table of migrations has what was applied, and when')

/** The trace of each route that may write: of the owner of a token, and of operators. */
const ROUTES: Readonly<Record<string, readonly Trace[]>> = {
  'DELETE /locations/{locationId}': [BY_TOKEN, entries('operator.locations.change')],
  'DELETE /products/{productId}': [BY_TOKEN, entries('operator.products.delete')],
  'DELETE /reservations/{reservationId}': [MOVEMENT, entries('operator.reservations.release')],
  'PATCH /locations/{locationId}': [BY_TOKEN, entries('operator.locations.change')],
  'PATCH /products/{productId}': [BY_TOKEN, entries('operator.products.change')],
  'POST /locations': [BY_TOKEN, entries('operator.locations.change')],
  'POST /movements': [MOVEMENT, entries(...STOCK)],
  'POST /operator/imports': [entries('operator.products.import')],
  'POST /products': [BY_TOKEN, entries('operator.products.change')],
  'POST /products/import': [BY_TOKEN],
  'POST /reservations': [reason('reserves stock. A reservation is a row with who made it, and its end a movement')],
  'POST /reservations/commit/{reservationId}': [MOVEMENT],
  'PUT /products/{productId}': [BY_TOKEN, entries('operator.products.change')],
}

const COMMANDS: Readonly<Record<string, Trace>> = {
  doctor: READ,
  export: READ,
  import: reason('writes products from a file, as the API does. Who runs it has the login of the database'),
  'locations create': reason('adds a location, whose row has its time. Who runs it has the login of the database'),
  'locations list': READ,
  'migrate down': SCHEMA,
  'migrate drift': READ,
  'migrate plan': READ,
  'migrate status': READ,
  'migrate up': SCHEMA,
  seed: reason('makes products and stock to try, by movements'),
  'stock adjust': MOVEMENT,
  'stock count': MOVEMENT,
  'stock history': READ,
  'stock list': READ,
  'stock receive': MOVEMENT,
  'stock transfer': MOVEMENT,
  version: READ,
  'warm-up': READ,
}

it('every route that writes has an entry in the audit log, or a reason', async () => {
  const routes = await listWritingRoutes(new URL('../../../docs/openapi/inventory.json', import.meta.url))
  expect(routes).toEqual(Object.keys(ROUTES).sort())
})

it('every command has an entry in the audit log, or a reason', async () => {
  const load = () => {
    throw new Error('no command runs here')
  }
  const loaders = otherCommands({ load, process })
  expect(await listCommands(loaders)).toEqual(Object.keys(COMMANDS).sort())
})

it('every entry is an action of operators', () => {
  const actions = Object.values(ROUTES).flatMap((traces) =>
    traces.flatMap((trace) => ('entries' in trace ? trace.entries : [])),
  )
  expect(actions.filter((action) => !(action.replace('operator.', '') in OPERATOR_ACTIONS))).toEqual([])
})
