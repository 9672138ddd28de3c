import type { LightMyRequestResponse } from 'fastify'
import { expect } from 'vitest'
import { sessionBody, statusAndBody } from './bodies.ts'

type Members = Readonly<Record<string, unknown>>

/** Compares a whole answer with a user record. */
export function expectUser(answer: LightMyRequestResponse, user: Members): void {
  expect(statusAndBody(answer)).toEqual([200, user])
}

/** Compares a whole answer with a session of a user. `members` are those that differ from the defaults of `sessionBody`. */
export function expectSession(answer: LightMyRequestResponse, user: Members, members: Members = {}): void {
  expect(statusAndBody(answer)).toEqual([200, sessionBody(user, members)])
}
