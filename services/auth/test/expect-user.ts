import type { LightMyRequestResponse } from 'fastify'
import { expect } from 'vitest'
import type { TestApp } from './auth-app.ts'
import { sessionBody, statusAndBody } from './bodies.ts'
import { OPERATOR } from './forged-token.ts'

type Service = Pick<TestApp, 'app'>

/** Compares a whole answer with the record of its user, as an admin sees the user now. */
export async function expectUser(service: Service, answer: LightMyRequestResponse): Promise<void> {
  expect(statusAndBody(answer)).toEqual([200, await recordOf(service, answer.json().id)])
}

/** Compares a whole answer with a session, whose user is the record that an admin sees now. */
export async function expectSession(
  service: Pick<TestApp, 'app' | 'deps'>,
  answer: LightMyRequestResponse,
  members: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const { lifetimeSeconds: expires_in } = service.deps.config.jwt
  const user = await recordOf(service, answer.json().user?.id)
  expect(statusAndBody(answer)).toEqual([200, sessionBody(user, { expires_in, ...members })])
}

async function recordOf({ app }: Service, id: string): Promise<Readonly<Record<string, unknown>>> {
  const answer = await app.inject({ url: `/admin/users/${id}`, headers: OPERATOR })
  expect(answer.statusCode).toBe(200)
  return answer.json()
}
