import { IMPORT_TEXTS } from '../field-errors.ts'
import { type ImportedUser, identityKey } from './imported-user.ts'

/** The user who has an address. */
export interface AddressOwner {
  readonly id: string
  readonly isConfirmed: boolean
}

/** The values that tell a stored user from another one with the same id. */
export interface IdOwner {
  readonly email: string | null
  readonly phone: string | null
  readonly createdAt: Date | undefined
}

/** The owners of everything that no two users share. */
export interface Owners {
  readonly ids: Map<string, IdOwner>
  readonly emails: Map<string, AddressOwner>
  readonly phones: Map<string, AddressOwner>
  /** Ids of users by `identityKey`. */
  readonly identities: Map<string, string>
}

/** The decision about a line of an import: it inserts its user, leaves the stored user as it is, or refuses the line. */
export type LineVerdict =
  | { readonly verdict: 'new' }
  /** The user exists: an earlier run was interrupted, or the line occurs twice. */
  | { readonly verdict: 'present' }
  | { readonly verdict: 'refused'; readonly reason: string }

/** The owners before the first line of a batch, when no identifier is known to be taken. */
export function noOwners(): Owners {
  return { ids: new Map(), emails: new Map(), phones: new Map(), identities: new Map() }
}

/** Adds what a batch has found to those of the batches before it. */
export function addOwners(owners: Owners, found: Owners): void {
  for (const [id, owner] of found.ids) owners.ids.set(id, owner)
  for (const [email, owner] of found.emails) owners.emails.set(email, owner)
  for (const [phone, owner] of found.phones) owners.phones.set(phone, owner)
  for (const [key, id] of found.identities) owners.identities.set(key, id)
}

/** Judges a user against the owners. A new user becomes an owner for the next lines. */
export function judgeLine(owners: Owners, user: ImportedUser): LineVerdict {
  const { row, identities, hasOwnId } = user
  const byId = owners.ids.get(row.id)
  if (byId !== undefined)
    return isSameUser(owners, user, byId)
      ? { verdict: 'present' }
      : { verdict: 'refused', reason: IMPORT_TEXTS.idTaken }
  // Users of SSO providers may share an email.
  const byEmail = row.email === null || row.is_sso_user ? undefined : owners.emails.get(row.email)
  const byPhone = row.phone === null ? undefined : owners.phones.get(row.phone)
  // A user with an unconfirmed address may be a stranger, who has signed up with it before its owner.
  if (byEmail?.isConfirmed === false && row.email_confirmed_at !== null)
    return { verdict: 'refused', reason: IMPORT_TEXTS.emailOfUnconfirmed }
  if (byPhone?.isConfirmed === false && row.phone_confirmed_at !== null)
    return { verdict: 'refused', reason: IMPORT_TEXTS.phoneOfUnconfirmed }
  const found = byEmail ?? byPhone
  // A line without an id is matched by its identifiers, which must all lead to the same user.
  if (!hasOwnId && found !== undefined && (byEmail ?? found).id === (byPhone ?? found).id) return { verdict: 'present' }
  if (byEmail !== undefined) return { verdict: 'refused', reason: IMPORT_TEXTS.emailTaken }
  if (byPhone !== undefined) return { verdict: 'refused', reason: IMPORT_TEXTS.phoneTaken }
  const taken = identities.find((identity) => owners.identities.has(identityKey(identity)))
  if (taken) return { verdict: 'refused', reason: IMPORT_TEXTS.accountTaken(taken) }
  addOwner(owners, user)
  return { verdict: 'new' }
}

/**
 * Whether a line is the stored user of its id. The developers of an application may choose the ids, so users
 * of two projects may have the same one. Addresses change, here and there: the time at which a user was
 * created does not. A line with nothing but an id says nothing else.
 */
function isSameUser(owners: Owners, { row, identities, createdAt }: ImportedUser, stored: IdOwner): boolean {
  const accounts = identities.filter(({ provider }) => provider !== 'email' && provider !== 'phone')
  if (createdAt !== undefined && createdAt.getTime() === stored.createdAt?.getTime()) return true
  if (row.email === null && row.phone === null && accounts.length === 0) return createdAt === undefined
  return (
    (row.email !== null && row.email === stored.email) ||
    (row.phone !== null && row.phone === stored.phone) ||
    accounts.some((account) => owners.identities.get(identityKey(account)) === row.id)
  )
}

function addOwner(owners: Owners, { row, identities }: ImportedUser): void {
  const { id, email, phone } = row
  owners.ids.set(id, { email, phone, createdAt: new Date(row.created_at) })
  if (row.email !== null && !row.is_sso_user)
    owners.emails.set(row.email, { id, isConfirmed: row.email_confirmed_at !== null })
  if (row.phone !== null) owners.phones.set(row.phone, { id, isConfirmed: row.phone_confirmed_at !== null })
  for (const identity of identities) owners.identities.set(identityKey(identity), row.id)
}
