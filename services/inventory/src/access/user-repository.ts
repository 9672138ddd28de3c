import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type Selectable, sql } from 'kysely'
import { z } from 'zod'
import type { Db, UserTable } from '../database.ts'

export const UserView = z
  .object({
    id: z.int().min(1).meta({ description: 'The id of the user' }),
    username: z.string().meta({ description: 'In lower case; no other user has it' }),
    firstName: z.string().meta({ description: 'The first name' }),
    lastName: z.string().meta({ description: 'The last name' }),
  })
  .meta({ id: 'InventoryUser' })

export type User = z.infer<typeof UserView>

/** Pages of users are large, because there are few users. */
export const USER_PAGES = { defaultLimit: 500, limitMax: 500 } as const

export function userJson({ id, username, firstName, lastName }: User): string {
  return JSON.stringify({ id, username, firstName, lastName })
}

// The columns are listed, because a prepared `*` fails after a migration adds a column.
const COLUMNS = ['id', 'username', 'first_name', 'last_name'] as const

const findQuery = prepare('find_user', (p: { id: number }, db: Db) =>
  db.selectFrom('users').select(COLUMNS).where('id', '=', sql<bigint>`${p.id}`),
)

const listQuery = prepare('list_users', (p: { afterId: number; limit: number }, db: Db) =>
  db
    .selectFrom('users')
    .select(COLUMNS)
    .where('id', '>', sql<bigint>`${p.afterId}`)
    .orderBy('id')
    .limit(sql<number>`${p.limit}`),
)

export async function findUser(pools: Pools, id: number): Promise<User | undefined> {
  const row = await pools.read.first(findQuery, { id })
  return row && toUser(row)
}

/** Lists at most `limit` users with an id above `afterId`, by id. */
export async function listUsers(
  pools: Pools,
  { afterId, limit }: { readonly afterId: number; readonly limit: number },
): Promise<User[]> {
  const rows = await pools.lagging.all(listQuery, { afterId, limit })
  return rows.map(toUser)
}

function toUser({ id, username, first_name, last_name }: Selectable<UserTable>): User {
  return { id: Number(id), username, firstName: first_name, lastName: last_name }
}
