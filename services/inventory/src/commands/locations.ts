import * as common from '@trestle/common/commands/operator-command.ts'
import { numberOption } from '@trestle/common/commands/operator-command.ts'
import type { Database } from '@trestle/database/connect.ts'
import type { Command } from 'commander'
import type { InventoryTables } from '../database.ts'
import type { Location } from '../locations/location.ts'
import { LocationBody } from '../locations/location-body.ts'
import { listLocations } from '../locations/location-repository.ts'
import { createLocation } from '../use-cases/change-locations.ts'
import { readValues } from './stock.ts'

type LocationCommand = common.OperatorCommand<Database<InventoryTables>>

export function locationsCommand(operator: common.Operator<Database<InventoryTables>>): Command {
  return common.commandGroup(operator, 'locations', 'list and create locations', commands)
}

const ROWS_MAX = 1_000
const ROWS = 100

const commands: readonly LocationCommand[] = [
  {
    usage: 'list',
    description: 'list locations, oldest first',
    options: [numberOption('--limit <rows>', `how many rows, 1 to ${ROWS_MAX}`, { max: ROWS_MAX, usual: ROWS })],
    run: async ({ pools }, { options: { limit } }) =>
      (await listLocations(pools, {}, { afterId: 0, limit: Number(limit) })).map(viewLocation),
  },
  {
    usage: 'create <code> <name>',
    description: 'add a location that takes stock, such as create SHOP "Shop in Main Street"',
    run: create,
  },
]

async function create(
  database: Database<InventoryTables>,
  { words: [code, name] }: common.CommandInput,
): Promise<Location> {
  const location = readValues(LocationBody, { code, name }, { code: 'the code', name: 'the name' })
  const { body } = await createLocation(database, { caller: { actor: null, idempotentRequest: undefined }, location })
  return viewLocation({ ...body, ...location })
}

function viewLocation({ id, code, name, active }: Location): Location {
  return { id, code, name, active }
}
