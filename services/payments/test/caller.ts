import type { Caller, Credentials } from '../src/access/caller.ts'
import { keyMac } from '../src/apps/app.ts'
import { type TestApp, testPepper } from './payments-app.ts'

/** The credentials of an app, from its key. */
export const credentialsOf = ({ key }: Pick<TestApp, 'key'>): Credentials => ({
  keyMac: keyMac(testPepper, key),
  userEmail: null,
})

/** An app as the caller, by default without an Idempotency-Key. */
export const callerOf = (app: Pick<TestApp, 'key'>, idempotentRequest?: Caller['idempotentRequest']): Caller => ({
  ...credentialsOf(app),
  idempotentRequest,
})
