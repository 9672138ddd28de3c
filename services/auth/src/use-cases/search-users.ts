import type { AuthDeps } from '../deps.ts'
import { readTypedPhone } from '../requests/typed-phone.ts'
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

/** A phone number as people write it. Users are found by its digits, and by the number that it is parsed to. */
const WRITTEN_PHONE = /^\+[\d ().-]+$/

/**
 * Finds users of any audience, without staged ones. Their metadata and the claims of identities are not read
 * (console reference: Users in lists).
 */
export async function searchUsers(
  { db }: Pick<AuthDeps, 'db'>,
  { search, ...page }: SearchUsersInput,
): Promise<readonly Profile[]> {
  const list = { ...page, audience: undefined, offset: 0 }
  if (search === undefined) return listBriefProfiles(db, { ...list, filter: undefined })
  const typed = WRITTEN_PHONE.test(search) ? readTypedPhone(search) : undefined
  const filter = WRITTEN_PHONE.test(search) ? search.replaceAll(/\D/g, '') : search
  const owner = typed?.parsed && (await findIdentifierOwner(db, { kind: 'phone', value: typed.parsed }))
  const foundIds = [...(await findUserIdsByExactId(db, search)), ...(owner ? [owner.id] : [])]
  return listBriefProfiles(db, { ...list, filter, atBeginning: true, foundIds })
}
