import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { readTypedPhone, type TypedPhone } from '../requests/identifier.ts'
import type { Profile } from '../users/profile-repository.ts'
import { findUserIdsByExactId, listBriefProfiles, type UserList } from '../users/user-list-repository.ts'
import { findIdentifierOwner } from '../users/user-repository.ts'

/** A page of users, and what they are searched by. */
export interface SearchUsersInput extends Pick<UserList, 'direction' | 'limit' | 'after'> {
  /**
   * The beginning of an email, a phone number or a full name, in any case; an id; or the subject of an identity at a provider.
   * Undefined lists all users.
   */
  readonly search: string | undefined
}

/**
 * Finds users of any audience, without staged ones. Their metadata and the claims of identities are not read
 * (console reference: Users in lists).
 */
export async function searchUsers(
  { config, db }: { readonly config: AuthConfig; readonly db: Db },
  { search, ...page }: SearchUsersInput,
): Promise<readonly Profile[]> {
  const list = { ...page, audience: undefined, offset: 0 }
  if (search === undefined) return listBriefProfiles(db, { ...list, filter: undefined })
  const typed = readSearchedPhone(search)
  const filter = typed?.digits ?? search
  const parsed = config.behaviours.parsePhones ? typed?.parsed : undefined
  const owner = parsed && (await findIdentifierOwner(db, { kind: 'phone', value: parsed }))
  const foundIds = [...(await findUserIdsByExactId(db, search)), ...(owner ? [owner.id] : [])]
  return listBriefProfiles(db, { ...list, filter, atBeginning: true, foundIds })
}

/**
 * Reads a phone number as people write it: with `+`, in any form that a request may have. Without `+` only digits can be
 * a number: an email may begin with digits and dots. Users are found by the digits, and by the number that they are parsed to.
 */
function readSearchedPhone(search: string): TypedPhone | undefined {
  const code = /^\+([1-9])$/.exec(search)?.[1]
  if (code !== undefined) return { digits: code, parsed: undefined }
  return /^[+＋]/.test(search) ? readTypedPhone(search) : undefined
}
