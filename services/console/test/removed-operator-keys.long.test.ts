import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createUser, keyOf, operatorKeysOf, PASSWORD, type RunningService, startService } from './services.ts'

// Only here do all three services run with the settings of operators, and with tokens that auth has issued.

const MESSAGE = 'The operator key or the access token is missing, malformed or not good'
/** How each service refuses credentials that are not good. */
const REFUSALS = [
  ['auth', { code: 401, error_code: 'operator_unauthorized', msg: MESSAGE }],
  ['payments', { code: 'OPERATOR_UNAUTHORIZED', message: MESSAGE }],
  ['inventory', { statusCode: 401, error: { type: 'OPERATOR_UNAUTHORIZED', description: `${MESSAGE}.` } }],
] as const

let services: readonly RunningService[]
let authorization: string
beforeAll(async () => {
  services = await Promise.all(REFUSALS.map(([name]) => startService(name)))
  const auth = serviceOf('auth')
  const { email } = await createUser(auth, 'ada@example.com', 'admin')
  const answer = await fetch(`${auth.url}/token?grant_type=password`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: PASSWORD }),
  })
  authorization = `Bearer ${z.looseObject({ access_token: z.string() }).parse(await answer.json()).access_token}`
})
afterAll(async () => {
  for (const service of services) await service.stop()
})

const serviceOf = (name: string) =>
  services.find((service) => service.name === name) ?? expect.fail(`${name} is missing`)
/** Asks a service who the operator is, by the key of a role. Returns the status, and the body of a refusal. */
const ask = async ({ url }: RunningService, role: 'support' | 'admin') => {
  const answer = await fetch(`${url}/operator/me`, {
    headers: { authorization, 'x-trestle-operator-key': keyOf(role) },
  })
  return answer.ok ? [answer.status] : [answer.status, await answer.json()]
}

describe('an operator key that was removed from the settings', () => {
  it.each(REFUSALS)('401: is refused by %s after a restart, while the other keys stay good', async (name, refusal) => {
    const service = serviceOf(name)
    expect([await ask(service, 'admin'), await ask(service, 'support')]).toEqual([[200], [200]])
    await service.restart({ [`${name.toUpperCase()}_OPERATOR_KEYS`]: operatorKeysOf(['viewer', 'support']) })
    expect([await ask(service, 'admin'), await ask(service, 'support')]).toEqual([[401, refusal], [200]])
  })
})
