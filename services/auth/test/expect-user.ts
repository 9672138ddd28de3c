import type { LightMyRequestResponse } from 'fastify'
import { expect } from 'vitest'
import { sessionBody, statusAndBody } from './bodies.ts'

type Members = Readonly<Record<string, unknown>>

/** Expects a 200 response with this user record. */
export function expectUser(answer: LightMyRequestResponse, user: Members): void {
  expect(statusAndBody(answer)).toEqual([200, user])
}

/** Expects a session of a user. `members` are the differences from the defaults of `sessionBody`. */
export function expectSession(answer: LightMyRequestResponse, user: Members, members: Members = {}): void {
  expect(statusAndBody(answer)).toEqual([200, sessionBody(user, members)])
}
