import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type Kysely, type Selectable, sql } from 'kysely'
import type { InventoryTables, UserTable } from '../database.ts'
import type { User } from './user.ts'

// Named one by one: a prepared `*` fails once a migration adds a column.
const COLUMNS = ['id', 'username', 'first_name', 'last_name'] as const

const findQuery = prepare('find_user', (p: { id: number }, db: Kysely<InventoryTables>) =>
  db.selectFrom('users').select(COLUMNS).where('id', '=', sql<bigint>`${p.id}`),
)

const listQuery = prepare('list_users', (p: { afterId: number; limit: number }, db: Kysely<InventoryTables>) =>
  db
    .selectFrom('users')
    .select(COLUMNS)
    .where('id', '>', sql<bigint>`${p.afterId}`)
    .orderBy('id')
    .limit(sql<number>`${p.limit}`),
)

/** A user, or undefined. */
export async function findUser(lanes: Lanes, id: number): Promise<User | undefined> {
  const row = await lanes.read.first(findQuery, { id })
  return row && toUser(row)
}

/** Users with an id above `afterId`, by id, at most `limit`. */
export async function listUsers(lanes: Lanes, afterId: number, limit: number): Promise<User[]> {
  return (await lanes.lagging.all(listQuery, { afterId, limit })).map(toUser)
}

function toUser(row: Selectable<UserTable>): User {
  return { id: Number(row.id), username: row.username, firstName: row.first_name, lastName: row.last_name }
}
