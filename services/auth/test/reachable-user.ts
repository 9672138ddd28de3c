import type { Db } from '../src/database.ts'
import type { UserIdentifier } from '../src/requests/fields.ts'
import type { User } from '../src/users/user.ts'
import { insertUser } from '../src/users/user-change-repository.ts'

/** A user's email and phone number. */
export interface Reach {
  readonly byEmail: UserIdentifier
  readonly byPhone: UserIdentifier
}

let people = 0

/** Returns an email and a phone number that no other test uses. */
export function newReach(): Reach {
  people += 1
  return {
    byEmail: { kind: 'email', value: `ann${people}@example.com` },
    byPhone: { kind: 'phone', value: `1415555${1_000 + people}` },
  }
}

/** Stores a user with an unconfirmed email and phone number. */
export function addReachable(
  db: Db,
  { byEmail, byPhone }: Reach,
  changes: Partial<Parameters<typeof insertUser>[1]> = {},
): Promise<User> {
  return insertUser(db, {
    aud: 'authenticated',
    role: 'authenticated',
    email: byEmail.value,
    phone: byPhone.value,
    ...changes,
  })
}
