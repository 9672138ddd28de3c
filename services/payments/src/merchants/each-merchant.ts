import type { Kysely } from 'kysely'
import type { PaymentsTables } from '../database.ts'

const PAGE = 1_000

/** The ids of all merchants, read page by page without locks: what is done with each is a call of its own. */
export async function* eachMerchant(db: Kysely<PaymentsTables>): AsyncGenerator<string> {
  let after = ''
  for (;;) {
    const page = await db
      .selectFrom('merchants')
      .select('id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE)
      .execute()
    for (const { id } of page) yield id
    const last = page.at(-1)
    if (!last) return
    after = last.id
  }
}
