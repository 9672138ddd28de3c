import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { readTypedPhone } from '../requests/typed-phone.ts'

/**
 * Whether a user has a phone number, or a change to it waits for its code. Also finds staged users, and those of any
 * audience.
 */
export async function isPhoneStored(db: Db, phone: string): Promise<boolean> {
  const users = db.selectFrom('users').select(sql`1`.as('one')).where('phone', '=', phone)
  const changes = db
    .selectFrom('one_time_tokens')
    .select(sql`1`.as('one'))
    .where('relates_to', '=', phone)
    .where('kind', '=', 'phone_change')
  return (await users.unionAll(changes).limit(1).executeTakeFirst()) !== undefined
}

/** Whether a user has a second factor with a phone number. */
export async function hasFactorPhone(
  db: Db,
  { userId, phone }: { readonly userId: string; readonly phone: string },
): Promise<boolean> {
  const factors = db.selectFrom('mfa_factors').select('id').where('user_id', '=', userId).where('phone', '=', phone)
  return (await factors.limit(1).executeTakeFirst()) !== undefined
}

/** Stored phone numbers that were typed in several forms. */
export interface PhonePairs {
  /** Users whose number is another one's when it is parsed. */
  readonly count: number
  /** The ids of two users of a pair; undefined where there is no pair. */
  readonly first: readonly [string, string] | undefined
}

const PAGE_ROWS = 10_000

/**
 * Counts users whose phone is the number of another user when it is parsed (reference: Phone numbers). It reads all phones by the
 * index, some at a time. Staged users do not count.
 */
export async function countPhonePairs(db: Db): Promise<PhonePairs> {
  /** The users who have a parsed number that is not the one that they were stored with. */
  const owners = new Map<string, string>()
  let count = 0
  let first: PhonePairs['first']
  for (let after = ''; ; ) {
    const page = await listPhones(db, after)
    const odd = page.flatMap(({ id, phone }) => {
      const parsed = readTypedPhone(phone)?.parsed
      return parsed === undefined || parsed === phone ? [] : { id, parsed }
    })
    const stored = await findOwners(
      db,
      odd.map(({ parsed }) => parsed),
    )
    for (const { id, parsed } of odd) {
      const other = stored.get(parsed) ?? owners.get(parsed)
      owners.set(parsed, id)
      if (other === undefined) continue
      count += 1
      first ??= [id, other]
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_ROWS) return { count, first }
    after = last.phone
  }
}

interface StoredPhone {
  readonly id: string
  readonly phone: string
}

function listPhones(db: Db, after: string): Promise<StoredPhone[]> {
  return db
    .selectFrom('users')
    .select(['id', 'phone'])
    .where('phone', '>', after)
    .where('staged_at', 'is', null)
    .orderBy('phone')
    .limit(PAGE_ROWS)
    .$narrowType<{ phone: string }>()
    .execute()
}

async function findOwners(db: Db, phones: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (phones.length === 0) return new Map()
  const rows = await db
    .selectFrom('users')
    .select(['id', 'phone'])
    .where(sql<boolean>`phone = ANY (${phones}::text[])`)
    .where('staged_at', 'is', null)
    .$narrowType<{ phone: string }>()
    .execute()
  return new Map(rows.map(({ id, phone }) => [phone, id]))
}
