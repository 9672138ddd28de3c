import { sql } from 'kysely'
import { expect } from 'vitest'
import type { TestApp } from './auth-app.ts'
import { anyTime, errorBody } from './bodies.ts'
import { changesOf, operate, type SignedInOperator } from './operators.ts'

/** The changes that operators make to a test's signing keys. */
interface OperatedKeys {
  /** Each function returns the status and body. By default the admin sends the request. */
  readonly add: (body: object, by?: SignedInOperator) => ReturnType<typeof operate>
  readonly promote: (kid: string, by?: SignedInOperator) => ReturnType<typeof operate>
  readonly retire: (kid: string, by?: SignedInOperator) => ReturnType<typeof operate>
  /** Moves all times of the keys into the past. */
  readonly age: (interval: string) => Promise<unknown>
  /** Returns the newest audit log entry of the admin's changes, in the form of `changeEntry`. */
  readonly lastChange: () => Promise<unknown>
}

/** Returns an admin's requests about signing keys. */
export function operateKeys(test: TestApp, admin: SignedInOperator): OperatedKeys {
  return {
    add: (body, by = admin) => operate(test, by, 'POST /keys', body),
    promote: (kid, by = admin) => operate(test, by, `POST /keys/${kid}/promotion`),
    retire: (kid, by = admin) => operate(test, by, `DELETE /keys/${kid}`),
    age: (interval) =>
      test.deps.db
        .updateTable('signing_keys')
        .set({
          created_at: sql`created_at - ${interval}::interval`,
          retire_at: sql`retire_at - ${interval}::interval`,
        })
        .execute(),
    lastChange: async () => (await changesOf(test, admin.user.id)).at(-1),
  }
}

/** The body of an EdDSA key without its private part. */
export function keyBody(kid: string, state: string): object {
  const x = expect.stringMatching(/^[\w-]{43}$/)
  const jwk = { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig', key_ops: ['verify'] }
  return { kid, algorithm: 'EdDSA', state, created_at: anyTime, public: jwk }
}

/** The refusal of a change that a key's state does not allow. */
export const keyConflict = (text: string): readonly [number, object] => [409, errorBody(409, 'conflict', text)]
/** The refusal of an unknown kid. */
export const unknownKey: readonly [number, object] = [
  404,
  errorBody(404, 'signing_key_not_found', 'Signing key not found'),
]
