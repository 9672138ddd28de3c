import { randomUUID } from 'node:crypto'
import { mayDo, OPERATOR_ROLES } from '@trestle/operators/operator-roles.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operatorEndpoints } from './error-model/endpoints.ts'
import { openWorld, type World } from './error-model/world.ts'
import { operatorHeaders, testOperators } from './operators.ts'

let world: World
beforeAll(async () => {
  world = await openWorld({ operators: testOperators })
})
afterAll(() => world.payments.close())

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const
const cases = operatorEndpoints.flatMap((endpoint) => OPERATOR_ROLES.map((role) => ({ ...endpoint, role })))

// Another test compares the table of actions with the console reference, and one compares these endpoints with the API document.
describe.each(cases)('$name with the role $role', ({ name, path, body, action = 'operators.identify', role }) => {
  /** The action for which the key of the role was refused, if it was. */
  const refusalOf = async (actor = role) => {
    const method = METHODS.find((known) => name.startsWith(`${known} `)) ?? 'GET'
    const headers = { ...operatorHeaders(role, actor), 'idempotency-key': randomUUID() }
    const request = { method, url: path(world), headers, ...(body ? { payload: await body(world) } : {}) }
    const answer = await world.payments.app.inject(request)
    return answer.statusCode === 403 ? answer.json().action : undefined
  }
  const expected = mayDo(role, action) ? undefined : action

  it('is refused where the table of actions asks for a higher role than that of its key', async () => {
    expect(await refusalOf()).toBe(expected)
  })

  it('is refused also when the user is an admin, because the key limits what its console may do', async () => {
    expect(await refusalOf('admin')).toBe(expected)
  })
})
