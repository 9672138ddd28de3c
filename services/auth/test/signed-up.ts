import type { AuthDeps } from '../src/deps.ts'
import { insertIdentity } from '../src/identities/identity-repository.ts'
import type { User } from '../src/users/user.ts'
import { insertUser } from '../src/users/user-change-repository.ts'

/** A confirmed user. */
export interface SignedUp {
  readonly user: User
  readonly email: string
  readonly password: string
}

let count = 0
/** The number of passwords. It is low because each is hashed once, but a test needs users with different passwords. */
const PASSWORDS = 4

/** Stores a confirmed user with an email, its identity and a password. */
export async function createSignedUp(
  { db, passwords }: Pick<AuthDeps, 'db' | 'passwords'>,
  changes: Partial<Parameters<typeof insertUser>[1]> = {},
): Promise<SignedUp> {
  const email = `signed-up-${++count}@example.com`
  const password = `correct horse ${count % PASSWORDS}`
  const user = await insertUser(db, {
    aud: 'authenticated',
    role: 'authenticated',
    email,
    created_at: new Date(),
    updated_at: new Date(),
    encrypted_password: await passwords.hash(password),
    email_confirmed_at: '2026-01-01T00:00:00.000001+00:00',
    confirmation_sent_at: '2026-01-01T00:00:00.000000+00:00',
    raw_app_meta_data: { provider: 'email', providers: ['email'] },
    raw_user_meta_data: { name: 'Ann' },
    ...changes,
  })
  await insertIdentity(db, {
    user_id: user.id,
    provider: 'email',
    provider_id: user.id,
    identity_data: { sub: user.id, email, email_verified: true, phone_verified: false },
    created_at: '2026-01-01T00:00:00.000000+00:00',
  })
  return { user, email, password }
}

/** Stores another user who has verified this email at a provider. */
export async function createSecondOwner(
  { deps }: { readonly deps: Pick<AuthDeps, 'db' | 'passwords'> },
  email: string,
): Promise<void> {
  const { user } = await createSignedUp(deps)
  const identity_data = { email, email_verified: true }
  const identity = { user_id: user.id, provider: 'github', provider_id: user.id, identity_data }
  await deps.db.insertInto('identities').values(identity).execute()
}
