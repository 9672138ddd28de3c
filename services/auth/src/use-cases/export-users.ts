import type { Db } from '../database.ts'
import { writeUserLine } from '../users/imported-user.ts'
import { listUsersWithIdentities } from '../users/user-list-repository.ts'

const PAGE_ROWS = 500

/** Lists every user by id, as a line that `users import` takes. */
export async function* exportUsers({ db }: { readonly db: Db }): AsyncGenerator<string> {
  let after: string | undefined
  do {
    const page = await listUsersWithIdentities(db, { after, limit: PAGE_ROWS })
    for (const each of page) yield `${writeUserLine(each)}\n`
    after = page.at(-1)?.user.id
  } while (after !== undefined)
}
