import { startMailSink } from '@trestle/testing/mail-sink.ts'
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AUDITED_REQUESTS, type AuditWorld } from './audited-requests.ts'
import { keyedEndpoints, openEndpoint, operatorEndpoints, requestOf } from './error-model/endpoints.ts'
import { openWorld } from './error-model/world.ts'
import { testOperators } from './operators.ts'
import { createStubAcquirer } from './stub-acquirer.ts'

let world: AuditWorld
beforeAll(async () => {
  const sink = await startMailSink()
  const acquirers = new Map([['north', createStubAcquirer()]])
  world = { ...(await openWorld({ operators: testOperators, smtp: sink, acquirers })), sink }
})
afterAll(async () => {
  await world.payments.close()
  await world.sink.close()
})

/** A page that needs a key and is not in the API document. */
const acceptance = { name: 'POST /invitations/{token}', path: () => '/' }
const endpoints = [...keyedEndpoints, ...operatorEndpoints, openEndpoint, acceptance]

const listEntries = () =>
  world.payments.database.db.selectFrom('audit').select(['id', 'action']).orderBy('id').execute()

/** Sends a request. @returns whether it succeeded, and the actions of its audit entries in alphabetical order */
async function entriesOf(request: InjectOptions): Promise<readonly [boolean, readonly string[]]> {
  const before = new Set((await listEntries()).map(({ id }) => id))
  const { statusCode } = await world.payments.app.inject(request)
  const written = (await listEntries()).filter(({ id }) => !before.has(id))
  return [statusCode < 400, written.map(({ action }) => action).sort()]
}

it.each(AUDITED_REQUESTS)('$route writes $entries alone', async ({ route, entries, change }) => {
  const endpoint = endpoints.find(({ name }) => name === route)
  if (endpoint === undefined) throw new Error(`no ${route}`)
  const request = { ...(await requestOf(endpoint, world)), ...(await change(world)) }
  expect(await entriesOf(request)).toEqual([true, entries])
})
