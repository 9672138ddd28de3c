import { violates } from '@trestle/database/violations.ts'
import type { Kysely, Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { emailExists, phoneExists, phoneExistsForAdmin } from '../errors.ts'
import { isStaged } from '../users/user.ts'
import {
  deleteStagedUser,
  EMAIL_KEYS,
  findIdentifierHolder,
  PHONE_KEY,
  type UserIdentifier,
} from '../users/user-repository.ts'

/** What to throw where another user has the email, or the phone number. */
export type TakenErrors = Readonly<Record<UserIdentifier['kind'], () => Error>>

export const TAKEN_FOR_USER: TakenErrors = { email: emailExists, phone: phoneExists }
export const TAKEN_FOR_ADMIN: TakenErrors = { email: emailExists, phone: phoneExistsForAdmin }

/**
 * Makes sure, as far as can be seen, that nobody but `ownerId` has an identifier. Somebody who only waits for a first
 * one-time code gives it up: a staged user blocks nobody (reference: Staged users). A real holder is not locked, since
 * two users who want each other's identifier would wait for each other.
 */
export async function claimIdentifier(
  trx: Transaction<AuthDatabase>,
  identifier: UserIdentifier,
  { ownerId, taken }: { readonly ownerId: string | undefined; readonly taken: TakenErrors },
): Promise<void> {
  const holder = await findIdentifierHolder(trx, identifier)
  if (!holder || holder.id === ownerId) return
  if (!isStaged(holder) || !(await deleteStagedUser(trx, holder.id))) throw taken[identifier.kind]()
}

/** Whether somebody other than `ownerId` has an identifier, as far as can be seen. A staged user counts as nobody. */
export async function isTaken(db: Kysely<AuthDatabase>, identifier: UserIdentifier, ownerId: string): Promise<boolean> {
  const holder = await findIdentifierHolder(db, identifier)
  return holder !== undefined && holder.id !== ownerId && !isStaged(holder)
}

/**
 * Runs a transaction that gives a user an identifier. What another request takes between the look and the write is found
 * by the unique index; the second attempt sees who it is. @throws what `taken` makes for the identifier
 */
export async function withUniqueIdentifiers<Result>(
  { db, names }: Pick<AuthDeps, 'db' | 'names'>,
  taken: TakenErrors,
  run: (trx: Transaction<AuthDatabase>) => Promise<Result>,
): Promise<Result> {
  const attempt = () => db.transaction().execute(run)
  const refusal = (error: unknown) => {
    if (violates(error, names, ...EMAIL_KEYS)) return taken.email()
    return violates(error, names, PHONE_KEY) ? taken.phone() : undefined
  }
  try {
    return await attempt()
  } catch (first) {
    if (refusal(first) === undefined) throw first
  }
  try {
    return await attempt()
  } catch (second) {
    throw refusal(second) ?? second
  }
}
